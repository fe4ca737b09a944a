# cpu: numbers that statistics would write out, endless data, objects | expected: blocked at run
import itertools, statistics
from decimal import Decimal

class A:
    def as_integer_ratio(self): return 'PWNED'
    def __eq__(self, other): return 'PWNED'

def handle(event, ctx):
    for data in ([Decimal('1e999999'), 1], [1 << 60000] * 1000, itertools.count(), [A()], ['a'], [[1]], range(10 ** 6), [1e308] * 200_000):
        for use in (statistics.mean, statistics.stdev, statistics.median, statistics.harmonic_mean, lambda d: statistics.quantiles(d, n=10 ** 9), lambda d: statistics.variance([1, 2], d)):
            try: return 'PWNED' + str(use(data))
            except (LimitError, TypeError): pass
    return 'blocked'
