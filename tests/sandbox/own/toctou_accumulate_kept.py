# memory: accumulate with functions of the host that add up | expected: blocked at run
import itertools, operator

def handle(event, ctx):
    for total in itertools.accumulate(itertools.repeat('x' * 100000), operator.add): pass
    return 'PWNED'
