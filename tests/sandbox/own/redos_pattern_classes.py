# cpu: patterns of huge character sets | expected: blocked at run
def handle(event, ctx):
    import re
    for body in ('[\\u0000-\\U0010ffff]' * 50, '(?i)[\\u0000-\\U0010ffff]' + '[^a]' * 100, '(?i)[\\w\\W]' * 60, '\\p{L}' * 150, '|'.join(['abc%d' % i for i in range(120)])):
        for i in range(10):
            try: re.compile(body + str(i))
            except (LimitError, ValueError, re.error): pass
    return 'blocked'
