# memory: json default= returns a deep structure | expected: blocked at run
import json
def deep():
    a = []
    for i in range(30): a = [a, a]
    return a

class A: pass

def handle(event, ctx):
    return 'PWNED' + str(len(json.dumps(A(), default=lambda value: deep())))
