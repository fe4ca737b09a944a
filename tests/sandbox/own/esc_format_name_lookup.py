# escape: the name of a field reaches getattr or a guard | expected: blocked at run
class A:
    def __getitem__(self, name): return name

def handle(event, ctx):
    shown = '{__class__} {_getattr_}'.format_map(A())
    return 'blocked' if shown == '__class__ _getattr_' else 'PWNED' + shown
