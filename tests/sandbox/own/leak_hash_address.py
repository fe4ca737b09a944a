# leak: hash() of an object tells where it lies in memory | expected: blocked at run
class Thing: pass

def near(hashes):
    hashes = sorted(hashes)
    return hashes[len(hashes) // 2 + 1] - hashes[len(hashes) // 2] < 2**40 or hashes[-1] - hashes[0] < 2**50

def handle(event, ctx):
    things = [Thing() for _ in range(100)]
    if near([hash(thing) for thing in things]): return 'PWNED instances'
    functions = [lambda: n for n in range(100)]
    if near([hash(function) for function in functions]): return 'PWNED functions'
    if near([hash(len), hash(max), hash(min), hash(abs), hash(Thing), hash(ValueError)]): return 'PWNED builtins'
    if [hash(thing) for thing in things] != [hash(thing) for thing in things]: return 'PWNED unsteady'
    return 'blocked'
