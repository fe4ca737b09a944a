# cpu: a generator makes what it gave before deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

def feed():
    first = []
    yield first
    first.append(deep())
    second = [deep()]
    yield second

def handle(event, ctx):
    return 'PWNED' + str(max(feed()))
