# cpu: isinstance with a deep tuple of types | expected: blocked at run
def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a
def handle(event, ctx):
    return 'PWNED' if isinstance(1, deep()) else 'blocked'
