# cpu: regex of the kind possessive_alternation | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?:a|aa|aaa)*+(?:a|aa)*c', 'a' * 100000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
