# cpu: the function of cmp_to_key never ends, or swallows | expected: blocked at run
import functools

def compare(a, b):
    try:
        while True: pass
    finally: a.append(b)

def handle(event, ctx):
    return 'PWNED' + str(sorted([[1], [2]], key=functools.cmp_to_key(compare)))
