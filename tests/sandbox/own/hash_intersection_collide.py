# hash: intersections with a list of keys that collide, in sets that are well spread | expected: blocked at run
def handle(event, ctx):
    keys = [i * (2**61 - 1) for i in range(20000)]
    spread = set(range(60000))
    done = 0
    for use in (spread.intersection, frozenset(spread).intersection, spread.copy().intersection_update):
        use(keys)
        done += 1
    while True:
        spread.union(keys)
        done += 1
