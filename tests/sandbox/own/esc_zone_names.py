# escape: names of time zones that are paths, long, or no text; what is behind a zone | expected: blocked at run
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

class A:
    def __str__(self): return 'UTC'

def handle(event, ctx):
    for name in ('/etc/passwd', '../../../etc/passwd', 'Europe', 'Europe/../../../../etc/passwd', 'x' * 1_000_000, '', '.', 'a\0b', '\ud800', 'tzdata.zi'):
        try: return 'PWNED' + str(ZoneInfo(name))
        except ZoneInfoNotFoundError as error:
            if 'share' in str(error) or len(str(error)) > 300: return 'PWNED' + str(error)
    for name in (A(), None, b'UTC', ['UTC'], 5):
        try: return 'PWNED' + str(ZoneInfo(name))
        except TypeError: pass
    zone = ZoneInfo('UTC')
    for name in ('no_cache', 'clear_cache', 'from_file', '_find_trans', 'fromutc'):
        if hasattr(zone, name) or hasattr(ZoneInfo, name): return 'PWNED' + name
    try: zone.utcoffset(A())
    except TypeError: return 'blocked'
    return 'PWNED'
