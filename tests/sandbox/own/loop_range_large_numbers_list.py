# memory: a list of a range of long integers | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(list(range((1 << 65000), (1 << 65000) + 300000))))
