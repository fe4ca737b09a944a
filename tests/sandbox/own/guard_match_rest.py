# escape: the rest of a mapping pattern is named like a guard | expected: rejected at compile
def handle(event, ctx):
    match {'a': 1}:
        case {**_getattr_}: return 'PWNED'
