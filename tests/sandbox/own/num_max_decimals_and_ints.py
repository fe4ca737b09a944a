# cpu: a Decimal is compared with long integers by max() | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    return 'PWNED' + str(max([Decimal('1e19700')] + [(1 << 65000)] * 1500))[:9]
