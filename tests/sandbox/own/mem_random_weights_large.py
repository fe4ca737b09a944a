# memory: random.choices adds up long integers as weights | expected: blocked at run
import random
def handle(event, ctx):
    return 'PWNED' + str(random.choices([1] * 300000, [(1 << 60000)] * 300000))
