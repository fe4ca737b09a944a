"""Differences from plain CPython that were found and closed: what each is about, and the body of a handler."""

from __future__ import annotations

from typing import Final

FOUND_HEAD: Final = """\
import base64, bisect, datetime, heapq, json, math, re, statistics, uuid
from collections import Counter, defaultdict, deque
from dataclasses import asdict, astuple, dataclass, field
from decimal import Decimal
from functools import lru_cache, reduce
from itertools import accumulate, chain, groupby, islice
from typing import ClassVar
from urllib.parse import parse_qs, urlencode

NOTES = []
WIDE = lambda x: x

def note(value):
    NOTES.append(value)
    return value

def attempt(function):
    try:
        return function()
    except Exception as error:
        return [type(error).__name__, str(error)]

class Box:
    convert = int
    longest = max
    def __init__(self, value):
        self.value = value
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return [4, 5, 6][index]

class Plain:
    pass
"""

FOUND: Final[dict[str, str]] = {
    "a display of a set hashes what stands before a star, and each item of an iterator, at once": """\
def numbers():
    for number in (1, [], 2):
        yield note(number)
return [attempt(lambda: {[], *note([1])}), attempt(lambda: {0, *numbers(), note(3)}), attempt(lambda: {*numbers()}),
    attempt(lambda: set(numbers())), attempt(lambda: dict.fromkeys(numbers())), sorted({*[1, 2], 3, *{4}}), NOTES]""",
    "a target that takes no items says so when its key was evaluated": """\
def assign(target):
    target[note(1)] = note(2)
def change(target):
    target[note(3)] += note(4)
def delete(target):
    del target[note(5)]
targets = 5, 'ab', (1, 2), {1}, Plain()
return [[attempt(lambda: act(target)) for act in (assign, change, delete) for target in targets], NOTES]""",
    "urlencode of what is empty, and of a deque": """\
empty = [[], (), {}, set(), frozenset(), deque(), range(0), '', b'', {}.keys()]
return [[urlencode(value) for value in empty], urlencode(deque([('a', 1)])), attempt(lambda: urlencode({1})),
    attempt(lambda: urlencode(deque([1]))), attempt(lambda: urlencode(range(2))), attempt(lambda: urlencode('ab'))]""",
    "methods of sets read no further than they need": """\
def numbers():
    for number in (1, 2, 3, [], 4):
        yield note(number)
made = {1, 2}
return [attempt(lambda: sorted(made.intersection(numbers()))), attempt(lambda: {7}.intersection(numbers())),
    attempt(lambda: made.isdisjoint(numbers())), attempt(lambda: {7}.isdisjoint(numbers())),
    attempt(lambda: made.issuperset(numbers())), attempt(lambda: {1, 2, 3}.issuperset(numbers())),
    attempt(lambda: made.issubset(numbers())), attempt(lambda: made.isdisjoint()),
    attempt(lambda: made.isdisjoint(1, 2)), attempt(lambda: set().intersection(numbers())),
    attempt(lambda: made.intersection_update(numbers())), sorted(made), NOTES]""",
    "a deque looks at its limit first": """\
return [attempt(lambda: deque(5, maxlen=-1)), attempt(lambda: deque(5, maxlen='a')), attempt(lambda: deque(5, -1)),
    list(deque([1, 2, 3], 2)), deque(maxlen=3).maxlen]""",
    "heapq asks for the key of an item before it reads the next": """\
def numbers():
    for number in (3, 1, 2):
        yield note(number)
    raise IndexError
keyed = [heapq.nsmallest(2, (n for n in (3, 1, 2)), key=lambda n: note(-n)), heapq.nlargest(2, iter('bca'), key=ord)]
return [keyed, attempt(lambda: heapq.nsmallest(2, numbers(), key={})), attempt(lambda: heapq.nlargest(3, numbers())),
    attempt(lambda: heapq.nlargest(2, numbers(), key=lambda n: note(n * 10))), NOTES]""",
    "a bool is an integer where one is asked for": """\
@lru_cache(maxsize=True)
def double(n):
    return n * 2
return [str(uuid.UUID(int=True)), double(2), double(3), 'a\\tb'.expandtabs(True), round(2.55, True), 'a'.ljust(True),
    statistics.quantiles([1, 2, 3], n=True), [1, 2][True], 'ab'.replace('a', 'b', False), int('1', 10) + True]""",
    "a slice is shown as it is": """\
class Shown:
    def __getitem__(self, key):
        return repr(key)
table = defaultdict(list)
return [Shown()[1:'a':None], Shown()[:3], attempt(lambda: table[:3]), repr(table)]""",
    "heaps are lists": """\
return [attempt(lambda: heapq.heappop({})), attempt(lambda: heapq.heappush('a', 1)), attempt(lambda: heapq.heapify(())),
    attempt(lambda: heapq.heapreplace(5, 1)), attempt(lambda: heapq.heappushpop(None, 1)),
    attempt(lambda: heapq.heappop([])), attempt(lambda: heapq.heapreplace([], 1)), heapq.heappushpop([], 1)]""",
    "a star in the arguments of round, int and float": """\
return [round(*[2.55], 1), round(*(7,), 2), int(*['5']), float(*['2']), attempt(lambda: round(*[1.5, 1], 1))[0]]""",
    "many Decimals and long integers are compared as they are": """\
many, ints, long = [Decimal(n) for n in range(50)], list(range(50)), [2 ** 1100 + n for n in range(50)]
same = [many == ints, ints == many, many < ints, many <= ints, (many,) == (ints,), {'a': many} == {'a': ints}]
return [same, many != ints[1:], long == list(long), long < long[1:], [many] in [[ints]], [[ints]].index([many]),
    attempt(lambda: many < 5), attempt(lambda: many == Plain()), 0 < len(many) < 60, set(many) == set(ints)]""",
    "asdict and astuple copy what they do not convert": """\
@dataclass
class Holder:
    value: object
made = []
for value in ({1}, deque([1]), Counter('ab'), {'k': {2}}, [deque()], Plain()):
    holder = Holder(value)
    copies = asdict(holder)['value'], astuple(holder)[0]
    made.append([copy is value or type(copy) is not type(value) for copy in copies])
holder = Holder(deque())
asdict(holder)['value'].append(1)
return [made, len(holder.value), sorted(asdict(Holder(Counter('aab')))['value']), attempt(lambda: asdict(Holder))]""",
    "an augmented assignment reads its item first": """\
def change():
    table = {}
    table['k'] += note(1)
return [attempt(change), NOTES]""",
    "an augmented assignment reads its attribute first": """\
box = Box(1)
def grow():
    box.value = 100
    return 1
box.value += grow()
return box.value""",
    "a slice assignment computes its values first": """\
items = [1, 2, 3]
items[note(0):note(1)] = note([9])
return [items, NOTES]""",
    "a slice assignment refuses its bounds before it takes its values": """\
def fail():
    yield 1
    raise ValueError('bad')
def change(bound, step=None):
    items = [1, 2, 3]
    items[1:bound:step] = fail()
return [attempt(lambda: change({})), attempt(lambda: change('a')), attempt(lambda: change(2)),
        attempt(lambda: change(2, 0)), attempt(lambda: change(2, 1.5))]""",
    "a mode of errors is looked for when there is an error": """\
return [b''.decode(errors='x'), 'ab'.encode('ascii', 'x'), str(b'a', 'ascii', 'x'), bytes('a', 'ascii', 'x'),
        attempt(lambda: 'ä'.encode('ascii', 'x'))[0], attempt(lambda: b'\\xff'.decode('ascii', 'x'))[0]]""",
    "what is false is no missing function": """\
return [attempt(lambda: list(accumulate([1, 2], other, initial=0))) for other in ([], {}, '', 0, Counter(), None)]""",
    "an intersection takes the items of what is no set": """\
numbers = {1, 2, 3}
kept = numbers.intersection([2.0, 3.0, 2])
numbers.intersection_update([2.0, 5], {2})
frozen = frozenset([1, 2]).intersection({1.0: 'x'})
return [sorted(map(repr, group)) for group in (kept, numbers, frozen, {2}.intersection({2.0}))] + [repr(frozen)]""",
    "bisect needs a sequence": """\
groups = [{1: 2}, {}, defaultdict(list), set(), Counter('a'), 'a']
return [attempt(lambda: bisect.bisect(values, key, key=note)) for values, key in zip(groups, [3, 3, 3, 3, 0, 'b'])]""",
    "escapes of replacements": r"""
news = ['\\x41', r'\x41', r'\q', r'[\g<0>\n\t\\]', r'\.', r'\u0041']
return [attempt(lambda: re.sub('a', new, 'ab'))[0] for new in news]""",
    "a Counter that cannot be counted is changed up to there": """\
def change(counter, more):
    counter += more
def lessen(counter, more):
    counter -= more
groups = [Counter(x=1, y=None) for _ in range(3)]
return [attempt(lambda: change(groups[0], Counter('aab')))[0], attempt(lambda: change(groups[1], Counter('ayb')))[0],
        attempt(lambda: lessen(groups[2], Counter('x')))[0], groups]""",
    "ratios of decimals": """\
return [attempt(lambda: Decimal(text).as_integer_ratio()) for text in ('9', '-1.25', '1e20', '0', 'nan', 'inf')]""",
    "a query of an object": "return attempt(lambda: parse_qs(Plain()))",
    "other values of validate": """\
return [attempt(lambda: base64.b64decode('Zg==', validate=value))
        for value in (0, 1, True, None, (), (1,), 'x', 1.5, [0])]""",
    "a method is looked up before its arguments": """\
return [attempt(lambda: NOTES.missing(note(1))), attempt(lambda: Box(1).missing(note(2))), NOTES]""",
    "the error of an augmented assignment names its operator": """\
def add(x, y):
    x += y
def power(x, y):
    x **= y
return [attempt(lambda: add(1, 'a')), attempt(lambda: add(1.5, [])), attempt(lambda: power('a', 2))]""",
    "an attribute of a built-in value cannot be set": """\
def change():
    (5).x = 1
return attempt(change)[0]""",
    "a slice takes what can be iterated": """\
def change():
    items = [1]
    items[:1] = 5
def change_text():
    text = 'abc'
    text[:1] = 'x'
return [attempt(change), attempt(change_text)]""",
    "a star needs what can be iterated": """\
def take():
    first, *rest = 5
return [attempt(take), attempt(lambda: [*None]), attempt(lambda: note(*5))]""",
    "functions that stand for types are no methods": """\
return [Box(1).convert('5'), Box(1).longest([1, 2]), Box.convert('6')]""",
    "imported types are types": """\
values = [Counter('a'), defaultdict(list), deque(), Decimal(1), range(3)]
kinds = [Counter, defaultdict, deque, Decimal, range]
return [[isinstance(v, k) for v in values for k in kinds], [type(v).__name__ for v in values],
        [type(v) is k for v, k in zip(values, kinds)], repr(kinds)]""",
    "types have a repr": """\
return [repr(int), str([str, list]), repr(defaultdict(list)), repr(ValueError), repr(datetime.date)]""",
    "counters stay counters": """\
a, b = Counter('aab'), Counter('b')
return [dict(x.items()) for x in (a + b, a - b, a | b, a & b, +a, -a)] + [repr(a + b), repr(Counter(x=None, y=1))]""",
    "names of types in texts": """\
values = [deque(), defaultdict(list), zip(), map(len, []), (x for x in [])]
return [attempt(lambda: len(v) + 1 if i > 1 else v + 1) for i, v in enumerate(values)]""",
    "texts take their keywords": """\
return ['é'.encode(encoding='latin-1'), b'a'.decode(encoding='ascii', errors='ignore'), str(b'a', encoding='utf-8'),
        str(b'a', errors='replace'), bytes('a', encoding='utf-8'),
        'a,b,c'.rsplit(sep=',', maxsplit=1), 'a b'.rsplit()]""",
    "bytes of a bool and of what is neither": """\
return [bytes(True), attempt(lambda: bytes(1.5)), attempt(lambda: bytes('a')), attempt(lambda: bytes(5, 'utf-8')),
        attempt(lambda: int.from_bytes(5, 'big')), attempt(lambda: str(5, 'utf-8'))]""",
    "methods of texts say what they need": """\
return [attempt(lambda: ','.join(5)), attempt(lambda: ','.join(['a', 5])), attempt(lambda: 'a'.ljust('b')),
        attempt(lambda: 'a'.strip(5)), attempt(lambda: 'a'.replace(b'a', b'bc')),
        attempt(lambda: 'a'.expandtabs('x'))]""",
    "pairs of a dict": """\
return [attempt(lambda: dict([1])), attempt(lambda: dict([(1, 2), 'abc'])),
        attempt(lambda: {}.update([[]])), dict(['ab'])]""",
    "a bool is an int": "return [True.bit_length(), (True).to_bytes(1, 'big')]",
    "reversed takes deques, mappings and sequences of the script": """\
return [list(reversed(deque([1, 2]))), list(reversed(Counter('ab'))), list(reversed(Box(1))),
        attempt(lambda: list(reversed(Plain())))]""",
    "ascii conversion": "return [f'{chr(10)!a}', f'{chr(39) + chr(34)!a}', f'{[chr(233)]!a}']",
    "percent formats look into what has items": """\
return ['abc' % [], '%(a)s' % Counter(a=2), 'x%s' % [1], attempt(lambda: '%d' % [1]), attempt(lambda: '%d' % Plain()),
        attempt(lambda: 'abc' % deque()), attempt(lambda: '%(a)s' % [1]),
        '%s %r' % ([1], {'k': 'v'}), 'abc' % Box(1)]""",
    "an object is shown once, and only if it is to be": """\
class Loud:
    def __str__(self):
        return note('shown')
    def __repr__(self):
        return note('repr')
return ['%s' % Loud(), attempt(lambda: '%d' % Loud()), NOTES]""",
    "fields of a dataclass": """\
@dataclass(order=True)
class Point:
    kinds: ClassVar[int] = 3
    x: int
    y: int = field(default=2, repr=False)
    z: list = field(default_factory=list, compare=False)
    w: int = field(default=7, init=False)
a, b = Point(1), Point(1, z=[5])
return [repr(a), a == b, a.w, asdict(b), a < Point(2), Point.kinds, attempt(lambda: asdict(5))]""",
    "errors of a dataclass": """\
@dataclass(frozen=True)
class Point:
    x: int
    y: int
    z: int = 0
def change():
    Point(1, 2).x = 5
def order():
    @dataclass(order=True)
    class Ordered:
        x: int
        def __lt__(self, other):
            return True
calls = [lambda: Point(), lambda: Point(1), lambda: Point(1, 2, 3, 4), lambda: Point(1, 2, q=3), lambda: Point(1, x=2)]
return [attempt(call) for call in [*calls, change, order]] + [repr(Point(1, 2))]""",
    "regular expressions take flags and positions": """\
word = re.compile('b')
return [re.findall('A', 'aAa', re.I), re.sub('A', 'x', 'aAa', 1, re.I), re.split('B', 'abc', 0, re.I),
        word.search('bab', 1).start(), word.match('ab', 1, 2).group(), word.findall(string='abb', pos=2),
        re.sub(pattern='a', repl='b', string='a'), attempt(lambda: re.sub('a', 'b', 5)),
        attempt(lambda: re.match([], 'a'))]""",
    "names of functions of the module": """\
return [attempt(lambda: WIDE(1, 2)), 5]""",
    "iterators begin when Python's do": """\
return [next(chain([1], 5)), attempt(lambda: groupby(5)), attempt(lambda: iter(5, 1)),
        list(accumulate([1, 2], func=max, initial=3))]""",
    "items that cannot be deleted": """\
def change(target):
    del target[0]
return [attempt(lambda: change(target)) for target in ('abc', (1,), 5, Plain(), [1], {})]""",
    "an object in a dataclass is equal to itself": """\
@dataclass
class Point:
    x: float
nan = float('nan')
return [Point([nan]) == Point([nan]), Point(nan) != Point(1)]""",
    "other arguments of functions": """\
return [pow(base=2, exp=3), pow(2, exp=3, mod=5), attempt(lambda: sum([], b'')), attempt(lambda: format(1, 2)),
        (18).as_integer_ratio()]""",
    "indented JSON": "return [json.dumps([1], indent='--'), json.dumps({'a': [1]}, indent=chr(9))]",
    "dates are parsed": "return datetime.datetime.strptime('2024-02-28', '%Y-%m-%d')",
    "decimals of bools and tuples": """\
return [Decimal(True), Decimal((0, (1, 2), -1)), attempt(lambda: Decimal([])), attempt(lambda: Decimal('x')),
        attempt(lambda: Decimal(None))]""",
    "bounds of islice come first": """\
return [attempt(lambda: islice(5, 'x')), attempt(lambda: islice(5, 1)), attempt(lambda: islice([1], -1))]""",
    "what json cannot write": """\
return [attempt(lambda: json.dumps({'a': held})) for held in (Decimal(1), deque(), {1}, range(3))]""",
    "Decimals everywhere": """\
d, held, counts = Decimal('1234.5678'), defaultdict(Decimal), Counter()
held['a'] += d
counts['x'] += d
return [repr([held, counts]), {d: 1}[Decimal('1234.5678')], 5 in {Decimal(5)}, Decimal(5) in [5], divmod(d, 7),
        type(d + 1) is Decimal, pow(Decimal(2), 3, 5), 2 ** Decimal(3), '%s %.2f %d' % (d, d, d), sorted([d, 3, 1.5]),
        f'{d:,.2f} {d!r} {d:>12} {d:.1%}', sum([d, d], Decimal(0)), attempt(lambda: d + 1.5), attempt(lambda: d + 'x'),
        attempt(lambda: d < None), d == 'x', json.dumps([d], default=str), d.as_tuple().digits, d.as_integer_ratio(),
        round(d), round(d, 2)]""",
    "queries of all values": """\
return [urlencode({'a': [1, 'b']}), urlencode({'a': [1, 'b']}, doseq=True), urlencode([('a', {}), ('b', None)]),
        urlencode({'a': b'x'}), urlencode({'k': defaultdict(list)}), attempt(lambda: urlencode(5)),
        urlencode(''), urlencode(b''), attempt(lambda: urlencode('a')),
        attempt(lambda: urlencode([['a', 1]])), urlencode({'a': {'x': 1}}, doseq=True),
        attempt(lambda: urlencode(Box(1)))]""",
    "arguments of math": """\
return [attempt(lambda: math.factorial([])), attempt(lambda: math.comb('a', 2)), attempt(lambda: math.lcm(0, 'a')),
        attempt(lambda: pow(2.0, 3, 5)), attempt(lambda: pow('a', 3, 5))]""",
    "other texts of errors": """\
class Wrong:
    def __str__(self):
        return 5
return [attempt(lambda: str(Wrong())), attempt(lambda: reduce(max, 5)), attempt(lambda: json.loads(5)),
        attempt(lambda: base64.b64encode(5)), attempt(lambda: Counter('a').most_common([])),
        attempt(lambda: ValueError.x)]""",
}
