from functools import cache, cached_property, cmp_to_key, lru_cache, partial, reduce, total_ordering, wraps
import functools
import operator
calls = []
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@functools.lru_cache
def noted(a, *, b=2):
    calls.append(a)
    return a + b
@lru_cache(maxsize=2)
def few(n):
    calls.append(n)
    return n * n
@lru_cache(8, typed=True)
def typed(n):
    calls.append(n)
    return str(n)
@cache
def paths(x, y): return 1 if x == 0 or y == 0 else paths(x - 1, y) + paths(x, y - 1)
def logged(prefix):
    def decorate(f):
        @wraps(f)
        def inner(*args, **kwargs):
            return prefix + str(f(*args, **kwargs))
        return inner
    return decorate
@logged('sum ')
def add(a, b=2): return a + b
class Circle:
    def __init__(self, r): self.r = r
    @cached_property
    def area(self):
        calls.append('area')
        return self.r * self.r * 3
    @lru_cache(maxsize=4)
    def scaled(self, by): return self.r * by
@total_ordering
class Version:
    def __init__(self, *parts): self.parts = parts
    def __eq__(self, other): return self.parts == other.parts
    def __lt__(self, other): return self.parts < other.parts
class Row:
    def __init__(self, name, age):
        self.name, self.age = name, age
        self.circle = Circle(age)
    def label(self, sep='-', *, end=''): return self.name + sep + str(self.age) + end
def attempt(make):
    try: return make()
    except Exception as error: return [type(error).__name__, str(error)]
def handle(event, ctx):
    rows = [Row('b', 2), Row('a', 2), Row('c', 1)]
    circle = Circle(2)
    out = [fib(80), noted(1), noted(1), noted(1, b=3), noted(1, b=3), noted(True), noted(1.0), noted('1' and 1), few(1), few(2), few(1), few(3), few(2), few(1), typed(1), typed(1.0), typed(True), paths(8, 8), add(1), add.__name__, fib.__name__, list(few.cache_info()), few.cache_info().hits, fib.cache_info().currsize]
    few.cache_clear()
    out += [list(few.cache_info()), circle.area, circle.area, circle.scaled(3), circle.scaled(3), list(calls)]
    by_attribute = sorted(rows, key=operator.attrgetter('age', 'name'))
    out += [[row.name for row in by_attribute], operator.attrgetter('circle.r')(rows[0]), operator.attrgetter('name', 'circle.area')(rows[2]), operator.methodcaller('label', '/', end='!')(rows[1]), list(map(operator.methodcaller('upper'), 'ab'))]
    by_comparing = cmp_to_key(lambda a, b: (a > b) - (a < b))
    out += [sorted([3, 1, 2], key=by_comparing), max('abc', key=cmp_to_key(lambda a, b: -1 if a > b else 1)), by_comparing(1) < by_comparing(2), by_comparing(1) == by_comparing(1)]
    out += [Version(1, 2) < Version(1, 3), Version(1, 2) >= Version(1, 2), Version(2) > Version(1, 9), Version(1) <= Version(0), [v.parts for v in sorted([Version(2), Version(1)])]]
    few.cache_clear()
    out += [attempt(lambda: few([1])), list(calls), attempt(lambda: fib([1])), attempt(lambda: operator.attrgetter()), reduce(operator.mul, [1, 2, 3]), partial(add, b=5)(1), operator.contains([1], 1), operator.or_(1, 2), operator.getitem({'a': 1}, 'a'), operator.pow(2, 5)]
    return out
