# leak: a cached pattern or template carries state | expected: blocked at run
import re
PATTERN = re.compile('(a)')

def handle(event, ctx):
    if hasattr(PATTERN, 'seen'): return 'PWNED'
    try: PATTERN.seen = 1
    except (AttributeError, TypeError): pass
    return 'blocked'
