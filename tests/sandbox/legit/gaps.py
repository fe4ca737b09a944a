import collections
import copy
import dataclasses
import itertools
import math
import random
import time
from collections import Counter, deque, defaultdict
from dataclasses import dataclass, field
from itertools import chain
@dataclass
class Item:
    name: str
    price: float = 0.0
    tags: list = field(default_factory=list)
    key: str = field(init=False, default='k')
@dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = 0
class Node:
    def __init__(self, value):
        self.value, self.next = value, None
def attempt(make):
    try: return make()
    except Exception as error: return [type(error).__name__, str(error)]
def handle(event, ctx):
    c = Counter('abcab')
    c.update(None)
    c.subtract(None)
    out = [list(chain.from_iterable([[1], [2, 3]])), list(itertools.chain.from_iterable({'a': [1]}.values())), ''.join(chain.from_iterable(['ab', 'c'])), sorted(c.elements()), c.total(), sorted(Counter(a=2, b=0, c=-1).elements()), list(itertools.starmap(pow, [(2, 3), (3, 2)])), list(itertools.filterfalse(lambda x: x % 2, range(5))), list(itertools.compress('abc', [1, 0, 1]))]
    i = Item('a', 2.0, ['x'])
    j = dataclasses.replace(i, price=3.0)
    out += [dataclasses.asdict(j), j.tags is i.tags, dataclasses.astuple(i), [f.name for f in dataclasses.fields(i)], dataclasses.is_dataclass(i), dataclasses.is_dataclass(Item), dataclasses.is_dataclass(5), dataclasses.replace(Point(1, 2), y=5) == Point(1, 5), attempt(lambda: dataclasses.replace(i, nope=1))[0], attempt(lambda: dataclasses.replace(i, key='z')), attempt(lambda: dataclasses.replace(5))[0], [dataclasses.replace(p, x=0).y for p in sorted([Point(2, 1), Point(1, 2)])]]
    data = {'a': [1, {'b': (2, [3])}], 'c': {4}, 'd': deque([[5]], maxlen=3), 'e': defaultdict(list, {'k': [6]}), 'f': Counter('x')}
    deep, flat = copy.deepcopy(data), copy.copy(data)
    deep['a'][1]['b'][1].append(9)
    deep['e']['new'].append(1)
    deep['d'][0].append(7)
    shared = [1]
    pair = copy.deepcopy([shared, shared])
    ring = [1]
    ring.append(ring)
    again = copy.deepcopy(ring)
    node = Node([1])
    node.next = node
    twin, same = copy.deepcopy(node), copy.copy(node)
    twin.value.append(2)
    out += [data['a'], deep['a'], list(data['e']), deep['e'], [list(x) for x in deep['d']], deep['d'].maxlen, [list(x) for x in data['d']], flat['a'] is data['a'], flat is data, pair[0] is pair[1], pair[0] is shared, again[1] is again, node.value, twin.value, twin.next is twin, same.value is node.value, same.next is node, copy.deepcopy((1, 'a')), copy.copy(5), dataclasses.asdict(copy.deepcopy(i)), copy.deepcopy(Point(1)) == Point(1)]
    r, again = random.Random(5), random.Random(5)
    items = [1, 2, 3, 4]
    r.shuffle(items)
    out += [items, r.randint(1, 10), r.random(), r.choice('abc'), r.sample(range(100), 3), r.choices([1, 2], weights=[1, 3], k=4), r.uniform(1, 2), r.getrandbits(20), r.randrange(0, 100, 5), r.gauss(0, 1), random.Random('seed').random(), again.choices('ab', cum_weights=[1, 2], k=3)]
    random.seed(3)
    out += [random.random(), random.randint(a=1, b=6), random.getrandbits(8)]
    t = time.gmtime(86400 * 365)
    out += [time.strftime('%Y-%m-%d %H:%M:%S', t), t.tm_year, t.tm_yday, list(t), time.strftime('%j', (2024, 2, 29, 0, 0, 0, 3, 60, 0)), time.time_ns() > 10 ** 18, time.monotonic_ns() > 0, len(time.strftime('%Y')) == 4]
    out += [round(math.dist([0, 0], [3, 4]), 3), math.erfc(0), round(math.lgamma(5), 6), math.exp2(3), math.remainder(7, 4), math.ulp(1.0), math.nextafter(1.0, 2.0)]
    return out
