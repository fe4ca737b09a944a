# cpu: list.index shows an exception that is not there, with its arguments | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    return 'PWNED' + str([1].index(ValueError(deep())))
