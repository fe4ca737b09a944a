# cpu: a sort key changes the list that it returned before | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    made = []
    def key(i):
        if i == 2:
            made[0].append(deep())
            made[1].append(deep())
        made.append([])
        return made[-1]
    sorted([0, 1, 2], key=key)
    return 'blocked'
