# escape: paths of attrgetter and names of methodcaller | expected: blocked at run
import operator
class A: pass

def handle(event, ctx):
    a = A()
    a.f = handle
    a.g = (x for x in [1])
    for path in ('f.__globals__', 'f.__code__.co_consts', 'g.gi_frame.f_back', '__class__.__mro__', 'f._offered_', 'f.__wrapped__'):
        try: return 'PWNED' + str(operator.attrgetter(path)(a))
        except AttributeError: pass
        try: return 'PWNED' + str(operator.attrgetter('f', path)(a))
        except AttributeError: pass
    for name in ('__reduce_ex__', '__init_subclass__', '_offered_', 'format_map.__self__'):
        try: return 'PWNED' + str(operator.methodcaller(name, 2)(a))
        except AttributeError: pass
    return 'blocked'
