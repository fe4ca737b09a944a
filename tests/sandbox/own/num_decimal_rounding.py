# cpu: rounding of extreme decimals | expected: blocked at run
from decimal import ROUND_UP, Decimal, InvalidOperation

def handle(event, ctx):
    d = Decimal('1e999999')
    for make in (lambda: d.quantize(Decimal('1e-999999'), rounding=ROUND_UP), lambda: round(d, 2), lambda: int(d.to_integral_exact()), lambda: d.quantize(Decimal(1), rounding='no such')):
        try: return 'PWNED' + str(len(str(make())))
        except (InvalidOperation, LimitError, TypeError): pass
    return 'blocked' if len(d.as_tuple().digits) == 1 else 'PWNED'
