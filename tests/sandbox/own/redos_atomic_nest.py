# cpu: regex of the kind atomic_nest | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?:(?:(?:a?){999}){999}){999}b', 'a' * 5000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
