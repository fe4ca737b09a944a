# cpu: Counter.elements of a huge count, consumed by C code | expected: blocked at run
from collections import Counter

def handle(event, ctx):
    try: return 'PWNED' + str(len(list(Counter(a=10 ** 15).elements())))
    except LimitError: pass
    return 'PWNED' + str(sum(1 for x in Counter(a=10 ** 15).elements()))
