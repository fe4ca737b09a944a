# cpu: sorting long Decimals that differ at their end | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    some = [Decimal('1' * 19000 + str(i * 7919 % 1000)) for i in range(100)]
    rows = some * 1900
    rows.sort()
    rows == list(rows)
    max(rows)
    return 'blocked'
