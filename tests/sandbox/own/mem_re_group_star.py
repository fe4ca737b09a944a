# memory: match.group(*many) copies a long text many times | expected: blocked at run
def handle(event, ctx):
    import re
    match = re.match('(.*)', 'x' * 4000000)
    return 'PWNED' + str(len(match.group(*[1] * 1000)))
