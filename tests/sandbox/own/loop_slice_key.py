# cpu: a slice as a key assigns a very long range in one C loop | expected: blocked at run
class A:
    def __getitem__(self, key):
        return key

def handle(event, ctx):
    s, a = A()[0:], [1]
    a[s] = range(10**9)
    return 'PWNED'
