# cpu: the text of a UnicodeDecodeError shows a deep reason set later | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    class E(UnicodeDecodeError): pass
    error = E('utf-8', b'x', 0, 1, 'reason')
    error.reason = deep()
    raise error
