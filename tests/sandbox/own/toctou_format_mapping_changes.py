# memory: a mapping of the script answers each field with a longer text | expected: blocked at run
class A:
    n = 1
    def __getitem__(self, name):
        self.n *= 4
        return 'x' * self.n

def handle(event, ctx):
    return 'PWNED' + str(len(('{a}' * 50).format_map(A())))
