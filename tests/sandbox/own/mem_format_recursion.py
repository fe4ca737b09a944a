# recursion: __str__ formats itself | expected: blocked at run
class A:
    def __str__(self): return '{}'.format(self)

def handle(event, ctx):
    return 'PWNED' + '{}'.format(A())
