# escape: a union of types of the host, called, subscripted or iterated | expected: blocked at run
def handle(event, ctx):
    union = int | str | ValueError | None
    for use in (lambda: union(1), lambda: union[0], lambda: list(union), lambda: union.args, lambda: union.members, lambda: type(union), lambda: len | int, lambda: None | None, lambda: handle | int):
        try: return 'PWNED' + str(use())
        except (TypeError, AttributeError): pass
    return 'blocked'
