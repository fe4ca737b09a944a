# cpu: colliding keys and deep values for mode() | expected: blocked at run
import statistics

def handle(event, ctx):
    try: return 'PWNED' + str(statistics.mode([(1, (2,))]))
    except TypeError: pass
    while True: statistics.multimode([i * (2 ** 61 - 1) for i in range(100_000)])
