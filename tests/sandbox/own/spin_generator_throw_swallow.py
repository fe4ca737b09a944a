# evade: a generator swallows every error and goes on | expected: blocked at run
def g():
    while True:
        try:
            while True: yield 1
        except Exception: pass

def handle(event, ctx):
    for i in g():
        try:
            while True: pass
        except Exception: pass
