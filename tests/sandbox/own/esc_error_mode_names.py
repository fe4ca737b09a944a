# escape: names of error handlers that the host's registry knows, wherever a mode is taken | expected: blocked at run
from urllib.parse import quote, quote_plus, unquote, unquote_plus

def handle(event, ctx):
    found = []
    for mode in ('namereplace', 'surrogateescape', 'x'):
        for use in (
            lambda: 'ሴ'.encode('ascii', mode), lambda: 'ሴ'.encode(encoding='ascii', errors=mode),
            lambda: b'\xff'.decode('ascii', mode), lambda: str(b'\xff', 'ascii', mode),
            lambda: bytes('ሴ', 'ascii', mode), lambda: quote('ሴ', '', 'ascii', mode),
            lambda: quote_plus('ሴ', '', 'ascii', mode), lambda: unquote('%ff', 'ascii', mode),
            lambda: unquote_plus('%ff', 'ascii', mode),
        ):
            try:
                found.append(use())
            except LookupError:
                pass
    return 'PWNED ' + repr(found) if found else 'blocked'
