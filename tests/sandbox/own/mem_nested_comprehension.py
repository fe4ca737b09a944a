# memory: a comprehension in a comprehension | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len([[[j] for j in range(1000)] for i in range(10**9)]))
