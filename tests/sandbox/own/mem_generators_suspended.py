# memory: many suspended generators with large frames | expected: blocked at run
def g(text):
    parts = [text] * 100
    yield parts

def handle(event, ctx):
    kept = []
    while True:
        x = g('x' * 100)
        next(x)
        kept.append(x)
