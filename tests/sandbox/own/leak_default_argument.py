# leak: a mutable default argument survives | expected: blocked at run
def count(seen=[]):
    seen.append(1)
    return len(seen)

def handle(event, ctx):
    return 'PWNED' if count() != 1 else 'blocked'
