# cpu: regex of the kind fuzzy_enhance | expected: blocked at run
def handle(event, ctx):
    import re
    for i in range(3):
        try: re.search('(?e)(?:a*b*c*d*){i<=10,s<=10,d<=10}x', 'abcd' * 5000)
        except (LimitError, ValueError, re.error): pass
    return 'blocked'
