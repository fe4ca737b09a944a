# cpu: __lt__ makes the items deep while they are sorted | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

class A:
    def __eq__(self, other):
        if len(rows[0]) == 1:
            for row in rows: row.append(deep())
        return True
    def __lt__(self, other):
        return False

rows = [[A()], [A()], [A()]]

def handle(event, ctx):
    rows_copy = [rows[0], rows[1], rows[2]]
    rows_copy.sort()
    return 'blocked'
