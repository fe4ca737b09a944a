# cpu: a Decimal of a million digits out of a tuple | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    d = Decimal((0, (7,) * 1000000, -1000000))
    for i in range(100): d = d.sqrt() if i % 2 else Decimal((0, (7,) * 1000000, -999999)) / d
    return 'blocked'
