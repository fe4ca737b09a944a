# escape: a keyword argument is named like a guard | expected: rejected at compile
def f(**names): return names

def handle(event, ctx):
    return 'PWNED' + str(f(_getattr_=1))
