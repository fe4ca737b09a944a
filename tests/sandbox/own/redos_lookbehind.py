# cpu: regex of the kind lookbehind | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?<=(a+)+)b', 'a' * 50000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
