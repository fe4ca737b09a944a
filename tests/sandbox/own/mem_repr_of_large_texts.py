# memory: large texts are written out with ten characters for each of theirs | expected: blocked at run
import json

def handle(event, ctx):
    text = "\U000e0000" * 4194304
    made = [text, text, text, "\U0001F600"]
    refused = []
    for write in (repr, str, json.dumps, lambda made: str(ValueError(*made)), lambda made: "%s" % made[:3]):
        try:
            write(made)
        except Exception as error:
            refused.append(str(error))
    return "blocked" if len(refused) == 5 else len(refused)
