# cpu: JSONDecodeError formats its deep message in its constructor | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    import json
    json.JSONDecodeError(deep(), '', 0)
    return 'blocked'
