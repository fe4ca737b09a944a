# crash: deeply nested objects of cmp_to_key and cached_property are freed and compared | expected: blocked at run
import functools

def handle(event, ctx):
    K = functools.cmp_to_key(lambda a, b: a < b)
    k = K(1)
    for i in range(100000): k = K(k)
    try: k < K(k)
    except RecursionError: pass
    k = None
    return 'blocked'
