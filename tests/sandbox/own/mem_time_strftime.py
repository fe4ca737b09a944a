# memory: widths and long formats of time.strftime | expected: blocked at run
import time

def handle(event, ctx):
    for make in (lambda: time.strftime('%99999999d'), lambda: time.strftime('%Y' * 1000), lambda: time.strftime('%d', [1] * 9), lambda: time.strftime('%d', (1,) * 10_000), lambda: time.strftime('%Y', (10 ** 30,) + (1,) * 8), lambda: time.gmtime(10 ** 30)):
        try: return 'PWNED' + str(len(make()))
        except (LimitError, TypeError, OverflowError, ValueError): pass
    return 'blocked'
