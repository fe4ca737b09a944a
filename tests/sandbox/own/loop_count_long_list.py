# cpu: a long list is counted in a list of long lists | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(([[0] * 100000 + [2]] * 900000).count([0] * 100000 + [1]))
