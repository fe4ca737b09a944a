# cpu: a Decimal is counted among long integers | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    return 'PWNED' + str([10 ** 9500 * 10 ** 9500 + 1, 5] .count(Decimal('1e19000')) + ([10 ** 9500 * 10 ** 9500 + 1] * 1000).count(Decimal('1e19000')))
