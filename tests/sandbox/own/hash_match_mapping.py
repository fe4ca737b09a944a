# cpu: match of a mapping with a deep value against constants | expected: blocked at run
def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a
def handle(event, ctx):
    match {'a': deep(), 'b': 1}:
        case {'a': 1}: return 'PWNED'
        case {'a': (), **rest}: return 'PWNED'
    return 'blocked'
