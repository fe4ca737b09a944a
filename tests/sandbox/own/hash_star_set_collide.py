# cpu: {*colliding ints} is one quadratic C call | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len({*[i * (2**61 - 1) for i in range(60000)]}))
