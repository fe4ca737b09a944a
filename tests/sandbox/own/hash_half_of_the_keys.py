# cpu: set operators on tables of which just under half of the keys share a hash | expected: blocked at run
def handle(event, ctx):
    p = 2**61 - 1
    a = {i * p for i in range(3900)} | {i for i in range(4200)}
    b = {(i + 5000) * p for i in range(3900)} | {i for i in range(4200)}
    return len(a | b)
