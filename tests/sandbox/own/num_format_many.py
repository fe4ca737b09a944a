# memory: many fields with wide specs in one f-string | expected: blocked at run
def handle(event, ctx):
    n = 1
    return 'PWNED' + str(len(''.join([f'{n:9999}{n:9999}{n:9999.9999f}' for i in range(10**6)])))
