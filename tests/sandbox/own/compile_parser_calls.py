# cpu: nested calls with a fault in the middle | expected: rejected at compile
def handle(event, ctx):
    return f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(f(a=f(x for))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
