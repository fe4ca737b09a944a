# cpu: log fields that are deep, spin or are many | expected: blocked at run
from picloud.sdk import log

class A:
    def __repr__(self):
        while True: pass

def handle(event, ctx):
    log.info('x', **{str(i): 'y' * 1000 for i in range(100000)})
    log.info('x', a=A())
    return 'PWNED'
