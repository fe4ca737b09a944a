# cpu: invoke with deep and hostile arguments | expected: blocked at run
def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a

class A:
    def __str__(self): return 'x'
    def upper(self): return 'GET'

def handle(event, ctx):
    for value in (deep(), A(), 'x' * 4000000, '/' * 100000, iter(range(10**12)), {'a': deep()}):
        for f in (lambda: invoke(value), lambda: invoke('x', value), lambda: invoke('/x', method=value), lambda: invoke('x', args=value)):
            try: f()
            except Exception: pass
    return 'blocked'
