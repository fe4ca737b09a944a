# cpu: groupby compares keys that share their parts | expected: blocked at run
import itertools
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    return 'PWNED' + str(len(list(itertools.groupby([deep(), deep()]))))
