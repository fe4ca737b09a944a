# cpu: %d of an extreme Decimal writes all of its digits | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    return 'PWNED' + str(len('%d' % Decimal('1e999999')))
