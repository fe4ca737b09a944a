# memory: a template of many fields, each with a long value | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(('{0}' * 1_000_000).format('x' * 1_000_000)))
