# cpu: int % and // extreme Decimal | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    a, b = 7, Decimal('1e-999999')
    for f in (lambda: a % b, lambda: a // b, lambda: divmod(a, b), lambda: 5 % b, lambda: a ** b, lambda: b ** a):
        try: f()
        except (ArithmeticError, LimitError): pass
    return 'blocked'
