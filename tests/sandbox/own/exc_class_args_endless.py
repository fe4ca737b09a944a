# cpu: a class attribute `args` that never ends, when the error is shown | expected: blocked at run
class E(Exception):
    args = iter(range(10**12))

def handle(event, ctx):
    raise E()
