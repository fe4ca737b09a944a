# cpu: comparing a list of 4000-key dicts with colliding keys | expected: blocked at run
def handle(event, ctx):
    step = 2**61 - 1
    one = {i * step: 1 for i in range(3500)}
    two = {i * step: 1 for i in range(3500)}
    [one] * 50 == [two] * 50
    return 'blocked'
