# escape: nonlocal statement names the stop flag | expected: rejected at compile
def handle(event, ctx):
    def f():
        nonlocal _stop_
        _stop_ = False
    f()
    return 'PWNED'
