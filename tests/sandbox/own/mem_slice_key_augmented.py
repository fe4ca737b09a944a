# memory: a slice as a key inserts into a list without its check | expected: blocked at run
class A:
    def __getitem__(self, key):
        return key

def handle(event, ctx):
    s, a = A()[0:0], [1]
    for i in range(20): a[s] += [1] * 100000
    return 'PWNED'
