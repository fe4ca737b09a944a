# cpu: a long key above many items, when the result is brought out | expected: blocked at run
def handle(event, ctx):
    return {'k' * 1000000: [[] for i in range(60000)]}
