# escape: global statement names a guard | expected: rejected at compile
def f():
    global _getattr_
    _getattr_ = 1

def handle(event, ctx):
    f()
    return 'PWNED'
