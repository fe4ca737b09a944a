# crash: 300000 nested slice objects are freed | expected: blocked at run
class A:
    def __getitem__(self, key):
        return key

def handle(event, ctx):
    a = A()
    s = None
    for i in range(300000): s = a[s:]
    s = None
    return 'blocked'
