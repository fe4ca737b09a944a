# escape: list.index shows an object that is not there with its address | expected: blocked at run
from collections import deque
class A: pass
def handle(event, ctx):
    for value in (A(), handle, (x for x in []), [A()], (handle,), {1: A()}, print, ctx, event, [].append):
        for box in ([1], (1,), deque([1])):
            for how in (lambda: box.index(value), lambda: box.remove(value)):
                try: how()
                except Exception as e:
                    if '0x' in str(e): return 'PWNED ' + str(e)
    return 'blocked'
