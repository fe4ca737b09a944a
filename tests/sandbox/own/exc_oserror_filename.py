# cpu: the text of an OSError shows its deep file name | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    raise OSError(1, 'a', deep())
