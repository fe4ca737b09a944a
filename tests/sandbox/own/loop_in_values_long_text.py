# cpu: a long text is looked for in the values of a dict | expected: blocked at run
def handle(event, ctx):
    d = dict.fromkeys(range(400000), 'a' * 300000 + 'y')
    return 'PWNED' + str(('a' * 300000 + 'x') in d.values())
