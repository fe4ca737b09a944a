# cpu: regex of the kind fuzzy | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?b)(?:(?:abcdefghij)+){e<=5}', 'abcxdefghij' * 10000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
