# cpu: queue options that are deep or hostile | expected: blocked at run
def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a

from picloud.sdk import queue

class A:
    def __eq__(self, other): return True
    def __lt__(self, other): return True
    def __len__(self): return 1
    def __str__(self): return 'q'

def handle(event, ctx):
    for value in (deep(), A(), -1, 10**5000, 'x' * 4000000, [A()], iter(range(10**12))):
        for options in ({'delay': value}, {'priority': value}, {'dedup_key': value}, {'max_attempts': value}, {'deliver_after': value}, {'immediate': value}):
            try: queue.enqueue('q', 1, **options)
            except Exception: pass
        for f in (lambda: queue.enqueue(value, 1), lambda: queue.enqueue('q', value), lambda: queue.enqueue_many('q', value), lambda: queue.depth(value)):
            try: f()
            except Exception: pass
    return 'blocked'
