# cpu: starmap of a host function over endless arguments | expected: blocked at run
import itertools

def handle(event, ctx):
    return 'PWNED' + str(any(itertools.starmap(divmod, itertools.repeat((0, 1))) if False else itertools.starmap(bool, itertools.repeat(()))))
