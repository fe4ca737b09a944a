# cpu: a long integer is looked for among Decimals of one hash | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    p = 2**61 - 1
    table = {Decimal(i * p) for i in range(1500)}
    x = p << 19000
    return "blocked" if x not in table else table
