import datetime
from decimal import Decimal
class Shown:
    def __str__(self): return 'shown'
    def __repr__(self): return 'Shown()'
class Lookup:
    def __getitem__(self, name): return name.upper()
def attempt(make):
    try: return make()
    except Exception as error: return [type(error).__name__, str(error)]
def handle(event, ctx):
    row = {'name': 'Ann', 'n': 3}
    return ['{0} {name}'.format(1, name='z'), '{:>{w}}'.format('a', w=5), '{} {} {}'.format(1, 2.5, None), '{1}{0}{1}'.format('a', 'b'), '{{}} {}'.format('x'), '{!r:>8}|{!s}|{!a}'.format('a', Shown(), 'ü'), '{}'.format(Shown()), '{:,.2f} {:08b} {:#x} {:.1%}'.format(1234.5, 42, 255, 0.256), '{:%Y-%m-%d}'.format(datetime.date(2024, 2, 29)), '{:.2f}'.format(Decimal('1.005')), '{name}: {n:03}'.format(**row), '{name}'.format_map(row), '{abc}'.format_map(Lookup()), '{:{}{}}'.format('x', '^', 7), '{:*^{width}}'.format('mid', width=9), attempt(lambda: '{} {0}'.format(1)), attempt(lambda: '{0} {}'.format(1)), attempt(lambda: '{2}'.format(1)), attempt(lambda: '{x}'.format(y=1)), attempt(lambda: '{'.format(1)), attempt(lambda: '}'.format(1)), attempt(lambda: '{:d}'.format('x')), attempt(lambda: '{!x}'.format(1)), [line.format(n=1) for line in ('a{n}', 'b')], list(map('<{}>'.format, [1, 2])), ''.format(), '{:{:{}}}'.format(1, 2, 3) if False else 'x', attempt(lambda: '{a}'.format_map({}))]
