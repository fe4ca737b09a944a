# escape: fields of a Response changed | expected: blocked at run
def handle(event, ctx):
    answer = Response({}, 200)
    for f in (lambda: setattr(answer, 'status', 10**9), lambda: setattr(answer, 'headers', {'a\n': 1})):
        try: f()
        except (TypeError, AttributeError): continue
        return 'PWNED'
    return 'blocked'
