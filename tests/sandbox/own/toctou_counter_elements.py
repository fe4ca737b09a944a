# toctou: the Counter changes while its elements are read | expected: blocked at run
from collections import Counter

def handle(event, ctx):
    c = Counter(a=2)
    try:
        for n, item in enumerate(c.elements()): c[n] = 5
    except RuntimeError: return 'blocked'
    return 'PWNED'
