# cpu: items view | [] hashes deep values in C | expected: blocked at run
def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a
def handle(event, ctx):
    return 'PWNED' + str({1: deep()}.items() | [])
