# cpu: max() of a range of long integers | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(max(range((1 << 65000), (1 << 65000) + 999999)) > 0)
