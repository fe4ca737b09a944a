# escape: what is behind a record of the host (URL, time, Decimal.as_tuple) | expected: blocked at run
import time, random
from decimal import Decimal
from functools import cache
from urllib.parse import urlsplit, urlparse

@cache
def f(): return 1

def handle(event, ctx):
    for value in (urlsplit('a://b'), urlparse('a'), time.gmtime(), Decimal(1).as_tuple(), f.cache_info(), random.Random(1), int | None):
        for name in ('_values', '_result', '_random', '_fields_', 'members', '_replace', '_asdict', 'count', 'index', 'encode', 'getstate', 'setstate', 'mro'):
            if hasattr(value, name): return 'PWNED' + name
            if getattr(value, name, None) is not None: return 'PWNED' + name
        try: setattr(value, 'scheme', 1)
        except AttributeError: pass
        else: return 'PWNED'
        try: type(value).scheme = 1
        except (TypeError, AttributeError): pass
        else: return 'PWNED'
    return 'blocked'
