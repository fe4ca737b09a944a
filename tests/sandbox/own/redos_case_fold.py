# cpu: regex of the kind case_fold | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?if)(?:ss|\\u00df|S)*?x', 'ss' * 50000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
