# cpu: a long list is looked for in a list of long lists | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str([0] * 100000 + [1] in [[0] * 100000 + [2]] * 900000)
