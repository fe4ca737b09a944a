# cpu: re.error formats its deep message in its constructor | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    import re
    re.error(deep(), 'a', 0)
    return 'blocked'
