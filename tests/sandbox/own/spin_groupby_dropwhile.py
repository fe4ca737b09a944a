# cpu: iterators that skip without end | expected: blocked at run
import itertools

def handle(event, ctx):
    for f in (lambda: next(itertools.dropwhile(lambda n: True, itertools.count())),
              lambda: next(itertools.groupby(itertools.repeat(1))),
              lambda: next(filter(None, itertools.repeat(0)))):
        try: f()
        except Exception: pass
    return 'PWNED'
