# memory: a % format with many widths within the limit | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(('%9999d' * 200000) % ((1,) * 200000)))
