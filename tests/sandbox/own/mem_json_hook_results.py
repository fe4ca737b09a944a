# memory: hooks of json.loads that return long texts | expected: blocked at run
import json

def handle(event, ctx):
    return 'PWNED' + str(len(json.loads('[' + '1,' * 9999 + '1]', parse_int=lambda text: text * 1_000_000)))
