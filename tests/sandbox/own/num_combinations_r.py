# memory: combinations of r = 10**9 allocates r indices | expected: blocked at run
def handle(event, ctx):
    import itertools
    for f in (itertools.combinations_with_replacement, itertools.combinations, itertools.permutations):
        try: next(f([1, 2], 10**9))
        except (StopIteration, LimitError): pass
    return 'blocked'
