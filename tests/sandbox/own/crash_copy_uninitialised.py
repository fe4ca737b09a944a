# crash: a copy of an object whose class derives from an exception, a K or a dataclass | expected: blocked at run
import copy
from dataclasses import dataclass
from functools import cmp_to_key

class Failed(OSError): pass

class Bad(UnicodeDecodeError):
    def __init__(self): pass

@dataclass(frozen=True, order=True)
class P:
    x: int

def handle(event, ctx):
    for value in (Failed(1, 2, 3), Bad(), P(1), cmp_to_key(lambda a, b: 0)(1)):
        try: str([copy.copy(value), copy.deepcopy(value), repr(copy.copy(value))])
        except TypeError: pass
    return 'blocked'
