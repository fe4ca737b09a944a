# leak: attributes on types and functions that all apps share | expected: blocked at run
import datetime, json, collections

def handle(event, ctx):
    for target in (datetime.datetime, json.dumps, collections.Counter, str, ValueError, len, type(None), type(1.5), LimitError, json.JSONDecodeError):
        if hasattr(target, 'planted'): return 'PWNED'
        try: setattr(target, 'planted', 1)
        except (AttributeError, TypeError): continue
        return 'PWNED'
    return 'blocked'
