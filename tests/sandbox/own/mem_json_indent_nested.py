# memory: json indent of values nested 90 deep | expected: blocked at run
def handle(event, ctx):
    import json
    rows = [0] * 100000
    for i in range(95): rows = [rows]
    return 'PWNED' + str(len(json.dumps(rows, indent=8)))
