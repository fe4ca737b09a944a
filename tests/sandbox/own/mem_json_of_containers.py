# memory: a JSON text of 1.4 million lists | expected: blocked at run
import json

def handle(event, ctx):
    return len(json.loads("[" + "[]," * 1390000 + "0]"))
