# cpu: sort keys that are one long text and its twin | expected: blocked at run
def handle(event, ctx):
    one, two = 'x' * 1000000 + 'a', 'x' * 1000000 + 'b'
    return 'PWNED' + str(len(sorted(range(100000), key=lambda n: one if n * 7919 % 3 else two)))
