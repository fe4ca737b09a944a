# memory: starmap unpacks an endless iterable into arguments | expected: blocked at run
import itertools

def handle(event, ctx):
    return 'PWNED' + str(next(itertools.starmap(max, [itertools.count()])))
