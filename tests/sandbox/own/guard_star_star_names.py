# escape: dynamic keyword names reach the private parameters of functions of the host | expected: blocked at run
import json

def handle(event, ctx):
    for f in (json.dumps, sorted, print, dict, int, min, dataclass, getattr, type, super, str):
        for name in ('_run', 'cls', 'self', '__class__', '_meter', 'globals_', 'skipkeys', 'object_hook', 'file', 'metaclass'):
            try: found = f([1], **{name: {}})
            except Exception: continue
            if f not in (print, dict) and '__' in str(found): return 'PWNED' + str(found)
    return 'blocked'
