# memory: 60 groups around a long text | expected: blocked at run
def handle(event, ctx):
    import re
    match = re.match('(' * 60 + '.*' + ')' * 60, 'x' * 4000000)
    return 'PWNED' + str(len(match.groups()))
