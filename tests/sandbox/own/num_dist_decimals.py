# cpu: math.dist of one long Decimal many times | expected: blocked at run
import math
from decimal import Decimal
def handle(event, ctx):
    return 'PWNED' + str(math.dist([Decimal('1.' + '3' * 19000)] * 300000, [Decimal('1.' + '2' * 19000)] * 300000))
