# cpu: a Decimal is looked for among long integers | expected: blocked at run
from decimal import Decimal
def handle(event, ctx):
    return 'PWNED' + str(Decimal('1e19000') in [10 ** 9500 * 10 ** 9500 + 1] * 1000)
