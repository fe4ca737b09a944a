# recursion: generators that send to each other | expected: blocked at run
def a():
    while True:
        x = yield 1
        if x: x.send(x)

def handle(event, ctx):
    one, two = a(), a()
    next(one)
    next(two)
    for f in (lambda: one.send(two), lambda: two.send(one), lambda: one.send(one)):
        try: f()
        except (ValueError, TypeError, StopIteration, RecursionError): pass
    return 'blocked'
