# cpu: extreme Decimals through every method | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    for text in ('1e999999', '1e-999999', '9' * 19000 + 'e900000', '0e999999', '-0e-999999', 'nan', 'inf'):
        d = Decimal(text)
        for f in (lambda: d.sqrt(), lambda: d.normalize(), lambda: d.quantize(Decimal('1e-999999')), lambda: d.to_integral_value(),
                  lambda: d.compare(1), lambda: d + 1, lambda: d - Decimal('1e-999999'), lambda: hash(d), lambda: d == 1.5, lambda: d < 10**100,
                  lambda: float(d), lambda: round(d, 2), lambda: int(d), lambda: f'{d:.10000f}', lambda: f'{d:,}', lambda: '%d' % d, lambda: '%f' % d,
                  lambda: range(d), lambda: 'a' * d, lambda: d * 1.5, lambda: abs(d), lambda: divmod(d, 3)):
            try: f()
            except (ArithmeticError, LimitError, TypeError, ValueError): pass
    return 'blocked'
