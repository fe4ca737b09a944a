from collections import namedtuple
import collections
import json
Point = namedtuple('Point', 'x y')
Row = collections.namedtuple('Row', ['name', 'age', 'tags'], defaults=[0, ()])
class Named(namedtuple('Base', 'a, b')):
    @property
    def total(self): return self.a + self.b
def attempt(make):
    try: return make()
    except Exception as error: return [type(error).__name__, str(error)]
def change(p): p.x = 5
def handle(event, ctx):
    p, row = Point(1, y=2), Row('ann')
    x, y = p
    first, *rest = row
    return [p.x, p[1], p[-1], p[0:1], x, y, first, rest, len(p), list(p), 1 in p, 9 in p, p == (1, 2), (1, 2) == p, p == Point(1, 2), p != Point(1, 3), p < Point(1, 3), p >= (1, 1), sorted([Point(2, 1), Point(1, 5)]), max(p, Point(0, 9)).y, repr(p), str(row), f'{p}', {p: 'a'}[Point(1, 2)], {(1, 2): 'b'}[p], p, [row], Named(1, 2).total, Row(*p), attempt(lambda: Point(1)), attempt(lambda: Point(1, 2, 3)), attempt(lambda: Point(1, z=3))[0], attempt(lambda: change(p)), attempt(lambda: namedtuple('A', 'a a'))[0], json.dumps({'p': p, 'r': [row]}), attempt(lambda: json.dumps({1})), dict([p]), sum(p), tuple(p), p.x + row.age, attempt(lambda: p[7])[0]]
