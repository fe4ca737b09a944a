# cpu: json.dumps of many long integers | expected: blocked at run
import json
def handle(event, ctx):
    return 'PWNED' + str(len(json.dumps([10 ** 4299] * 9000)))
