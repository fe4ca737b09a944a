# leak: a Random made by a script is the generator of another | expected: blocked at run
import random
R = random.Random(7)

def handle(event, ctx):
    try: random.Random.shared = R
    except AttributeError: pass
    random.seed(1)
    first = random.random()
    R.random()
    random.Random(1).random()
    second = random.random()
    random.seed(1)
    return 'blocked' if [first, second] == [random.random(), random.random()] and not hasattr(random.Random, 'shared') else 'PWNED'
