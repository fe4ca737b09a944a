# cpu: a parameter has the name of a small number of the module | expected: blocked at run
x = 5
def square(x):
    y = x
    return y * y

def handle(event, ctx):
    n = 3
    for i in range(40): n = square(n)
    return 'PWNED'
