# cpu: a replacement function that searches again for long | expected: blocked at run
def handle(event, ctx):
    import re
    def again(match):
        try: re.search('(a|a)*b', 'a' * 40)
        except LimitError: pass
        return 'x'
    return re.sub('a', again, 'a' * 1000) and 'blocked'
