# escape: super() of an exception class reaches its methods in C | expected: blocked at run
class E(ValueError):
    def reach(self, name):
        return getattr(super(), name)

def handle(event, ctx):
    for name in ('with_traceback', 'add_note', 'args', '__reduce__', '__setstate__', '__traceback__'):
        try: found = E().reach(name)
        except AttributeError: continue
        return 'PWNED' + name
    return 'blocked'
