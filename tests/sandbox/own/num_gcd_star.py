# cpu: math.gcd of a million large numbers is one C call | expected: blocked at run
def handle(event, ctx):
    import math
    g = 3**20000
    return 'PWNED' + str(math.gcd(*([g * 7**10000, g * 5**10000] * 300000)) > 0)
