# cpu: tuples of long integers are searched among tuples of equal floats | expected: blocked at run
def handle(event, ctx):
    return ([(float(1 << 400),) * 16] * 1000000).count((1 << 400,) * 16)
