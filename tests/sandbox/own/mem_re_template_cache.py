# memory: re.sub keeps long templates for every app | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(100): re.sub('q', str(i) + '\\n' + 'x' * 3000000, '')
    return 'blocked'
