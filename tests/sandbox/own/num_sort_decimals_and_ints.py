# cpu: a Decimal is compared with long integers while they are sorted | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    'PWNED' + str(len(sorted([(1 << 65000) + i for i in range(900)] + [Decimal(1)] * 900)))
    return 'blocked'
