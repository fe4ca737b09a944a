# cpu: __str__ makes the query deep while it is written | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a

from urllib.parse import urlencode
class A:
    def __repr__(self):
        row.append(deep())
        return 'a'

row = [A()]

def handle(event, ctx):
    urlencode({'a': row})
    return 'blocked'
