# toctou: hooks of json.loads keep what they were given and make it deep | expected: blocked at run
import json

def deep():
    a = []
    for i in range(30): a = [a, a]
    return a

kept = []

def hook(found):
    kept.append(found)
    for one in kept:
        one['k'] = deep()
        one['all'] = kept
    return found

def handle(event, ctx):
    value = json.loads('[' + ','.join(['{"a": {"b": 1}}'] * 20) + ']', object_hook=hook)
    return 'PWNED' if len(json.dumps(value)) > 10 else 'blocked'
