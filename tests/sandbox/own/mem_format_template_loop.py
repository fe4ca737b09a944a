# memory: str.format in a loop keeps its results | expected: blocked at run
def handle(event, ctx):
    kept = []
    while True: kept.append('{:>9999}{:>9999}'.format('a', 'b'))
