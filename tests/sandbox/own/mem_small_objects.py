# memory: many small objects of every kind | expected: blocked at run
def handle(event, ctx):
    kept = []
    class A:
        def __init__(self, n): self.n = n
    while True: kept.append((A(len(kept)), {}, [len(kept)], {len(kept)}, lambda: kept))
