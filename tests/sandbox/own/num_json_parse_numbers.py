# cpu: numbers of JSON read by other functions | expected: blocked at run
import json
from decimal import Decimal

def handle(event, ctx):
    digits = '9' * 1_000_000
    for text, named in ((digits, {'parse_int': Decimal}), (digits, {'parse_int': float}), (digits + '.5', {'parse_float': Decimal}), (digits, {'parse_int': lambda t: int(t, 7)})):
        try: return 'PWNED' + str(len(str(json.loads(text, **named))))
        except (LimitError, ValueError): pass
    huge = json.loads('1e99999999', parse_float=Decimal)
    try: return 'PWNED' + str(int(huge))
    except LimitError: return 'blocked'
