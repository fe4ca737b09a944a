# recursion: __init__ that makes more of its class | expected: blocked at run
class A:
    def __init__(self):
        self.next = A()

class E(Exception):
    def __init__(self, *args):
        super().__init__(E(*args))

def handle(event, ctx):
    for f in (A, E):
        try: f()
        except RecursionError: pass
    return 'blocked'
