# memory: a % format with many long floats | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(('%f' * 200000) % ((1e308,) * 200000)))
