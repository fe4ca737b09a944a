# escape: names of named tuples and of their fields, endless fields, methods of the host | expected: blocked at run
import itertools
from collections import namedtuple

class Endless:
    def __iter__(self):
        while True: yield 'a'

def handle(event, ctx):
    for make in (lambda: namedtuple('__class__', 'a'), lambda: namedtuple('P', '__init__ __class__'), lambda: namedtuple('P', ['_named_', 'a']), lambda: namedtuple('P', Endless()), lambda: namedtuple('P', itertools.count()), lambda: namedtuple('P', ['a b']), lambda: namedtuple(5, 'a'), lambda: namedtuple('P', 'a', defaults=Endless()), lambda: namedtuple('P', ('x%d ' * 5000))):
        try: return 'PWNED' + str(make())
        except (ValueError, TypeError, LimitError): pass
    P = namedtuple('P', 'mro args')
    p = P(1, 2)
    for name in ('_named_', '_dataclass_', '_fields', '__dict__', '_replace'):
        if hasattr(p, name) or hasattr(P, name): return 'PWNED' + name
    for change in (lambda: setattr(p, 'args', 5), lambda: setattr(p, 'other', 5)):
        try: change()
        except AttributeError: continue
        return 'PWNED'
    return 'blocked'
