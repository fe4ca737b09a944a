# cpu: many Decimals against many long integers: variant 3 | expected: blocked at run
from decimal import Decimal

def handle(event, ctx):
    longs = [10 ** 9500 * 10 ** 9500] * 1000
    decimals = [Decimal('1e19000')] * 1000
    return [decimals] in [[longs]]
