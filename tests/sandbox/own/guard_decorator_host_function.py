# escape: functions of the host as decorators and methods | expected: blocked at run
import functools, operator, json

class A:
    get = getattr
    set = setattr
    text = json.dumps
    make = property(hasattr)
    kind = classmethod(getattr)

def handle(event, ctx):
    a = A()
    for f in (lambda: a.get('__class__'), lambda: a.set('__class__', 1), lambda: a.make, lambda: A.kind('__subclasses__'), lambda: A.get(a, '__dict__')):
        try: return 'PWNED' + str(f())
        except (AttributeError, TypeError): pass
    return 'blocked'
