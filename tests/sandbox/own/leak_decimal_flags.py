# leak: signals of the decimal context of the thread | expected: blocked at run
from decimal import Decimal

def handle(event, ctx):
    if str(Decimal(1) / Decimal(7)) != '0.1428571428571428571428571429': return 'PWNED'
    for f in (lambda: Decimal('x'), lambda: Decimal('1e999999') * Decimal('1e999999'), lambda: Decimal(1) / 0):
        try: f()
        except (ArithmeticError, ValueError): pass
    return 'blocked'
