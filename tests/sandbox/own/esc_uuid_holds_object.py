# escape: a UUID, which counts as plain data, holds an object of the script | expected: blocked at run
import uuid
class A:
    def __ge__(self, other): return True
    def __lt__(self, other): return True
def handle(event, ctx):
    found = []
    for make in (lambda: uuid.UUID(int=A()), lambda: uuid.UUID(int=2.5), lambda: uuid.UUID(int=True)):
        try: found += {type(make().int).__name__} - {'int'}
        except (TypeError, ValueError): pass
    return 'PWNED' + str(found) if found else 'blocked'
