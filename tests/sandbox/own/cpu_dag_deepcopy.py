# cpu: deepcopy of 2**60 values that share their parts, and of a deep nest | expected: blocked at run
import copy

def handle(event, ctx):
    a = []
    for i in range(60): a = [a, a, (a, {'k': a})]
    b = copy.deepcopy(a) 
    if b[0] is not b[1]: return 'PWNED'
    c = []
    for i in range(100_000): c = [c]
    copy.deepcopy(c)
    return 'PWNED'
