# cpu: the last part of a chain makes its middle deep | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

first, middle = [], []

def last():
    middle.append(deep())
    return [deep()]

def handle(event, ctx):
    if first <= middle <= last(): pass
    return 'blocked'
