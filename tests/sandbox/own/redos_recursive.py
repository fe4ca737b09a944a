# cpu: regex of the kind recursive | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?R)', 'a' * 1000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
