# memory: json separators from an endless iterator | expected: blocked at run
def handle(event, ctx):
    import json
    return 'PWNED' + json.dumps([], separators=iter(range(10**12)))
