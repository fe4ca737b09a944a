# cpu: regex of the kind recursive_group | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('((?1)|a)*b', 'a' * 10000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
