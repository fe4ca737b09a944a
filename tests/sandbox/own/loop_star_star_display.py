# memory: {**object} whose keys() never end | expected: blocked at run
class A:
    def keys(self):
        return iter(range(10**12))
    def __getitem__(self, key):
        return 0

def handle(event, ctx):
    return 'PWNED' + str({**A()})
