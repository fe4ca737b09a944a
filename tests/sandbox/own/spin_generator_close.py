# cpu: a generator spins when it is closed | expected: blocked at run
def g():
    try: yield 1
    finally:
        while True: pass

def handle(event, ctx):
    x = g()
    next(x)
    x.close()
    return 'PWNED'
