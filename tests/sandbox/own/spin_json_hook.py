# cpu: hooks of json.loads that swallow and spin, and hooks of the host | expected: blocked at run
import json

def swallow(found):
    try:
        while True: pass
    except Exception: return found
    finally:
        found.clear()

def handle(event, ctx):
    text = '[' + '{},' * 300_000 + '{}]'
    for hook in (dict, len, sorted): json.loads(text, object_hook=hook)
    return 'PWNED' + str(json.loads(text, object_hook=swallow))[:9]
