# cpu: {**d} of a dict whose keys collide | expected: blocked at run
def handle(event, ctx):
    d = {i * (2**61 - 1): 1 for i in range(6000)}
    for i in range(50): {0: 1, **d}
    return 'blocked'
