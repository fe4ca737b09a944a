# cpu: type(Decimal) gives the unguarded class | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    d = type(Decimal(1))('0.' + '7' * 4000000)
    for i in range(10): d * d; d.sqrt()
    return 'blocked'
