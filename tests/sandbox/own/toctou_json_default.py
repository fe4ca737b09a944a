# memory: json default= makes the rest of the value deep | expected: blocked at run
import json
def deep():
    a = []
    for i in range(30): a = [a, a]
    return a

class A: pass

rest = []

def fill(value):
    rest.append(deep())
    return 1

def handle(event, ctx):
    return 'PWNED' if len(json.dumps([A(), rest], default=fill)) > 100 else 'blocked'
