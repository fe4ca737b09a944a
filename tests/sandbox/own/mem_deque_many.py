# memory: many deques with maxlen and long texts | expected: blocked at run
def handle(event, ctx):
    from collections import deque
    kept = []
    while True: kept.append(deque(['x' * 1000] * 1000, maxlen=10 + len(kept)))
