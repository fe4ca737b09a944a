# cpu: chain.from_iterable, starmap, filterfalse and compress over endless sources without items | expected: blocked at run
import itertools

def handle(event, ctx):
    endless = [
        lambda: next(itertools.chain.from_iterable([] for i in itertools.count()), 1),
        lambda: any(itertools.filterfalse(None, itertools.repeat(1))),
    ]
    if event['run']: endless.reverse()
    return 'PWNED' + str([make() for make in endless])
