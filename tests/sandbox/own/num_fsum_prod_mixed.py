# cpu: math.prod, fsum and lcm over long numbers | expected: blocked at run
def handle(event, ctx):
    import math
    big = 1 << 60000
    for f in (lambda: math.prod([big] * 10), lambda: math.lcm(*[big + i for i in range(1000)]), lambda: math.fsum([big] * 10), lambda: math.prod([1.0] * 900000), lambda: math.isqrt(big), lambda: math.comb(5000, 2500), lambda: math.perm(5000, 5000), lambda: math.ldexp(1.0, big), lambda: math.log(big)):
        try: f()
        except (LimitError, OverflowError, TypeError): pass
    return 'blocked'
