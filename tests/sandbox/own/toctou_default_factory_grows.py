# memory: a default_factory adds keys while the dict is read | expected: blocked at run
from collections import defaultdict

def handle(event, ctx):
    d = defaultdict(lambda: d.update({len(d): 'x' * 100000}) or len(d))
    while True:
        d[str(len(d))] += 1
