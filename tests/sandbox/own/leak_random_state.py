# leak: the same seed gives the same numbers, no seed gives others | expected: blocked at run
import random

def handle(event, ctx):
    if random.random() == 0.13436424411240122: return 'PWNED'
    random.seed(1)
    return 'blocked'
