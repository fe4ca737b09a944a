# memory: f(**object) whose keys() never end | expected: blocked at run
class A:
    def keys(self):
        return iter(range(10**12))
    def __getitem__(self, key):
        return key

def handle(event, ctx):
    return 'PWNED' + str(dict(**A()))
