# cpu: a class's number has the name of a small number of the module | expected: blocked at run
x = 5
def handle(event, ctx):
    class A:
        x = 3
        for i in range(40):
            x = [y for y in [x * x]][0]
    return 'PWNED'
