# escape: an error of a call shows the called object with its address | expected: blocked at run
class A:
    def __call__(self, *a, **k): pass
def handle(event, ctx):
    a = A()
    for how in (lambda: a(*5), lambda: a(**5), lambda: a(**{'x': 1}, **{'x': 2}), lambda: a(**{1: 2})):
        try: how()
        except Exception as e:
            if '0x' in str(e): return 'PWNED ' + str(e)
    return 'blocked'
