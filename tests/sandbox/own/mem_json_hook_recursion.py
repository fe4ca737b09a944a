# recursion: a hook of json.loads calls json.loads | expected: blocked at run
import json

def hook(found): return json.loads('{}', object_hook=hook)

def handle(event, ctx):
    return 'PWNED' + str(json.loads('{}', object_hook=hook))
