# cpu: compress that never selects, starmap that never ends | expected: blocked at run
import itertools

def handle(event, ctx):
    return 'PWNED' + str([next(itertools.compress(itertools.count(), itertools.repeat(0)))])
