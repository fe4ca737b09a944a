# memory: a text of escapes is split at each of them | expected: blocked at run
from urllib.parse import parse_qsl, unquote, unquote_plus

def handle(event, ctx):
    refused = []
    for read in (unquote, unquote_plus, lambda text: parse_qsl("a=" + text[3:])):
        try:
            read("%" * 4194304)
        except Exception as error:
            refused.append(str(error))
    return "blocked" if len(refused) == 3 else refused
