# cpu: chain.from_iterable of endless empty lists | expected: blocked at run
import itertools

def handle(event, ctx):
    return 'PWNED' + str(next(itertools.chain.from_iterable(itertools.repeat([])), 1)) if hasattr(itertools.chain, 'from_iterable') else 'blocked'
