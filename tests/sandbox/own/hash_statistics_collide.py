# cpu: colliding keys and deep values for mode() | expected: blocked at run
import statistics

def handle(event, ctx):
    a = ()
    for i in range(60): a = (a, a)
    try: return 'PWNED' + str(statistics.mode([a]))
    except LimitError: pass
    while True: statistics.multimode([i * (2 ** 61 - 1) for i in range(100_000)])
