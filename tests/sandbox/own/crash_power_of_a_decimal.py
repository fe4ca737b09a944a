# crash: pow() of whole numbers by a Decimal, a segmentation fault of Python 3.13.0 | expected: blocked at run
from decimal import Decimal

class Thing:
    pass

def handle(event, ctx):
    found = []
    for base in (2, True, 2.0, Thing(), None, "2", Decimal(2)):
        for exponent in (3, Decimal(3), None):
            try:
                found.append(pow(base, exponent, Decimal(5)))
            except Exception as error:
                found.append(str(error))
    return "blocked" if found[0] == 3 and len(found) == 21 else found
