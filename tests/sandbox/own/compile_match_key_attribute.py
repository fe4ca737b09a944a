# compile: a dotted name as a key of a mapping pattern | expected: rejected at compile
def handle(event, ctx):
    match {'a': 1}:
        case {event.x: y}: return 'PWNED'
    return 'blocked'
