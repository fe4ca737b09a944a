# cpu: a tuple with a long text is looked for in a list | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(('a' * 300000 + 'x',) in [('a' * 300000 + 'y',)] * 900000)
