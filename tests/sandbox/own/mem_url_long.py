# memory: the library keeps URLs that were split, for every app | expected: blocked at run
from urllib.parse import urljoin, urlparse, urlsplit, urlunsplit

def handle(event, ctx):
    long = 'http://h/' + 'x' * 1_000_000
    for make in (urlsplit, urlparse, lambda u: urljoin(u, 'a'), lambda u: urljoin('a', u), lambda u: urlunsplit([u] * 5), lambda u: urlsplit('a', u)):
        try: return 'PWNED' + str(len(make(long)))
        except LimitError: pass
    return 'blocked'
