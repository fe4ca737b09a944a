# memory: json default= returns a long text for each of many objects | expected: blocked at run
import json
class A: pass

def handle(event, ctx):
    long = 'x' * 4_000_000
    return 'PWNED' + str(len(json.dumps([A() for i in range(500)], default=lambda value: long)))
