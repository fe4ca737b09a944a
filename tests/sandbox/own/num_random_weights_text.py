# memory: random.choices adds up texts as weights | expected: blocked at run
def handle(event, ctx):
    import random
    return 'PWNED' + str(random.choices([1] * 200, ['x' * 4000000] * 200))
