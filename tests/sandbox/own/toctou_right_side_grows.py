# cpu: the right side of == makes the left side deep after it was looked at | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

left = []

def right():
    left.append(deep())
    return [deep()]

def handle(event, ctx):
    if left == right(): pass
    return 'blocked'
