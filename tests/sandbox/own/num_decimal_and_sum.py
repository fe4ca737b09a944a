# cpu: a Decimal against an integer that sums made long | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    x = 1
    for i in range(200000):
        x = x + x
    return 1 + Decimal(1) < x
