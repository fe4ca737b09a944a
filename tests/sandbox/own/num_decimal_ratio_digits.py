# num: Decimal.as_integer_ratio of many digits behind the point, and of small exponents | expected: blocked at run
from decimal import Decimal

def handle(event, ctx):
    done = []
    for number in (Decimal("1." + "3" * 6000), Decimal("1e-4000000"), Decimal("1e999999")):
        try:
            done.append(len(number.as_integer_ratio()))
        except LimitError:
            pass
    return "PWNED" if done else "blocked"
