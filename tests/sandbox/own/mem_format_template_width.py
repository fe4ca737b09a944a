# memory: a width in the template of str.format, given or nested | expected: blocked at run
def handle(event, ctx):
    for make in (lambda: '{:>999999999}'.format(1), lambda: '{:>{}}'.format(1, 999999999), lambda: '{:.{n}f}'.format(1.5, n=99999999)):
        try: return 'PWNED' + str(len(make()))
        except LimitError: pass
    return 'blocked'
