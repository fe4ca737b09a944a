# cpu: __str__ and __getitem__ that never end, called by str.format | expected: blocked at run
class A:
    def __str__(self):
        try:
            while True: pass
        except Exception: return 'x'
    def __getitem__(self, name):
        return '{a}'.format(a=self)

def handle(event, ctx):
    return 'PWNED' + '{x}'.format_map(A())
