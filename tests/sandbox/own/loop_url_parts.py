# cpu: urlunsplit of endless parts, urlsplit of objects | expected: blocked at run
import itertools
from urllib.parse import parse_qsl, urlsplit, urlunparse, urlunsplit

class A:
    def __len__(self): return 1
    def __iter__(self):
        while True: yield 'a'
    def decode(self, *args): return 'PWNED'

def handle(event, ctx):
    for make in (urlsplit, parse_qsl, lambda a: urlsplit('x', a), lambda a: urlunsplit([a] * 5)):
        try: return 'PWNED' + str(make(A()))
        except TypeError: pass
    for source in (A(), itertools.repeat('a')):
        for make in (urlunsplit, urlunparse):
            try: return 'PWNED' + str(make(source))
            except (LimitError, ValueError): pass
    return 'blocked'
