# cpu: tables of Decimals and of integers of one hash are united | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    p = 2**61 - 1
    table = {Decimal(i * p) for i in range(1000)}
    x = {(i + 10000) * p for i in range(1000)}
    return "blocked" if len(x | table) == 2000 else table
