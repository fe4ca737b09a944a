# memory: endless iterator | dict view | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(iter(range(10**12)) | {}.keys()))
