# escape: format specs that walk attributes | expected: blocked at run
class A:
    def __str__(self): return '{0.__class__}'

def handle(event, ctx):
    for f in (lambda: f'{A():{A()}}', lambda: format(A(), A()), lambda: f'{A()!r:>{10}}', lambda: '%s' % A()):
        try: text = f()
        except TypeError: continue
        if 'class ' in text or '0x' in text: return 'PWNED' + text
    return 'blocked'
