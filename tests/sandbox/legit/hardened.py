# What the guards against hostile values touch, as ordinary code uses it.
import base64
import functools
import itertools
import json
import math
import operator
import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from urllib.parse import quote, urlencode


class Money:
    def __init__(self, amount):
        self.amount = amount

    def __eq__(self, other):
        return self.amount == other.amount

    def __lt__(self, other):
        return self.amount < other.amount

    def __repr__(self):
        return f"Money({self.amount})"


class AppError(Exception):
    def __init__(self, code, *args):
        super().__init__(code, *args)
        self.args = [code, "told"]
        self.code = code


class FileGone(OSError):
    pass


@dataclass(order=True)
class Row:
    key: int
    tags: list


BASES = (Money,)


class Euro(*BASES):
    pass


def unpacking():
    rows = [(1, 2, 3), (4, 5), [6]]
    heads = [(first, rest) for first, *rest in rows]
    for *front, last in rows:
        heads.append((front, last))
    a, (b, *c), d = 1, range(4), "x"
    (e, *f), *g = ["abc", 2, 3]
    for at, (name, *others) in enumerate(["ab", "c"]):
        heads.append((at, name, others))
    x = (y, *z) = (1, 2, 3)
    try:
        for first, second, *rest in [(1,)]:
            pass
    except ValueError as error:
        heads.append(str(error))
    return [heads, a, b, c, d, e, f, g, list(x), y, z]


def displays():
    numbers = [3, 1, 2]
    options = {"sep": ";", "end": "."}

    def show(*parts, sep="", **more):
        return sep.join(parts), sorted(more.items())

    return [
        sorted({*numbers, 7, *range(2)}), len({*()}), {**options, "a": 1}, {"sep": 0, **options},
        show("a", "b", **options), show(**{"sep": "x"}, **defaultdict(int, c=1)), dict(**options),
    ]


def tables():
    one, two = {"a": 1, "b": 2}, {"b": 2, "c": [3]}
    found = [
        sorted(one.keys() | two.keys()), sorted(one.keys() & two), sorted(one.keys() - ["a"]), sorted(one.keys() ^ {"z"}),
        sorted(one.items() | {("d", 4)}), sorted(one.items() & two.items()), one.keys() == {"a", "b"},
    ]
    one |= [("x", 9)]
    one |= two
    counts = Counter("abracadabra")
    counts.update("aa")
    counts.update({"b": 3})
    counts.subtract(Counter(a=1))
    counts["z"] += 1
    some = {1, 2, 3}
    some.difference_update([1], {9})
    found += [
        sorted({1}.union({2}, [3])), sorted(frozenset({1, 2}).intersection({1, 5}, [1])), sorted({1, 2, 3}.difference([1], (2,))),
        sorted({1}.union()), sorted(some), {1} <= {1, 2}, {1}.isdisjoint([2]), Counter("aab").total(),
    ]
    tally = Counter(a=1)
    tally += Counter(a=2, b=1)
    return [found, one, counts.most_common(2), counts.most_common(), tally["a"], sum(counts.values())]


def comparing():
    wallets = [Money(3), Money(1), Euro(2)]
    pairs = [(2, [Money(1)]), (1, [Money(5)]), (1, [Money(4)])]
    return [
        repr(sorted(wallets)), repr(min(wallets)), repr(max(Money(1), Money(4))), repr(sorted(pairs)), repr(max(pairs)),
        [Money(1), {"a": [Money(2)]}] == [Money(1), {"a": [Money(2)]}], [Money(1)] in [[Money(2)], [Money(1)]],
        [[Money(1)], [Money(2)]].index([Money(2)]), Row(1, ["b"]) < Row(1, ["c"]), Row(1, [Money(1)]) == Row(1, [Money(1)]),
        sorted(["bb", "a", "ccc"], key=lambda word: [len(word), word], reverse=True), operator.lt([1, [2]], [1, [3]]),
        deque([Money(1)]) == deque([Money(1)]), {"k": Money(1)} == {"k": Money(1)}, Counter(a=1) == Counter(a=1, b=0),
        max((len(word) for word in ["a", "bbb"]), default=0), min([], default="none"), sorted({(1, "b"), (1, "a")}),
    ]


def searching():
    def count():
        n = 0
        while True:
            n += 1
            yield n

    return [
        5 in count(), 2 in iter([1, 2]), "b" in map(str.lower, []) if hasattr(str, "lower") else False, (1, "a") in enumerate("ab", 1) or (0, "a"),
        3 in range(10), 2.0 in range(3), 10**7 in range(10**8), "ell" in "hello", b"a" in b"abc", None in [None], 9 in itertools.chain([1], [9]),
    ]


def texts():
    row = {"name": "Ada", "n": 3}
    return [
        "%(name)s has %(n)05d and %(name)r" % row, "%s %5.2f %x %%" % ("a", 3.14159, 255), "%s" % [1, "b"], "%d" % Decimal("12.7"),
        re.findall(r"(\w)(\d)", "a1 b2"), re.findall(r"(\w)\d|x", "a1 x"), re.findall(r"\d+", "1 22"), re.split(r"(,)\s*", "a, b,c"),
        re.sub(r"(\w+) (\w+)", r"\2 \1", "hello world"), re.sub("a", "b", "banana", count=2), re.sub(r"\d", lambda m: str(int(m.group()) * 2), "1a2"),
        re.match(r"(?P<y>\d{4})-(\d{2})-(\d{2})", "2026-12-01").groups(), re.match(r"(?P<y>\d{4})", "2026").groupdict(),
        re.match("(a)(b)", "ab").group(2, 1), re.findall("(a)(b)?", "ab" * 3 + "a" * 5000)[:4], re.findall(r"(?:\d{1,3}\.){3}\d{1,3}", "ip 10.0.0.1"),
        re.sub(r"\(?(\d)\)?", r"<\1>", "(1) 2"), re.match(r"[(](?:a{2}){3}[)]", "(aaaaaa)").group(),
        urlencode({"q": "a b", "n": 1, "f": 1.5, "none": None}), urlencode([("a", b"x"), ("b", True)]), quote("a/b c", safe=""),
        b"\xff\x41".decode("utf-8", "replace"), "\u20acuro".encode("ascii", "ignore"), str(b"\xc3\xa4", "utf-8"), "xxabcxx".strip("x"),
        "abc".translate(str.maketrans("ab", "xy", "c")), "abc".translate({97: None, 98: "BB"}), bytes("a", "utf-8"),
    ]


def errors():
    told = []
    for fail in (
        lambda: json.loads("{"), lambda: b"\xff".decode("utf-8"), lambda: "\u20ac".encode("ascii"), lambda: {}["k"],
        lambda: int("x"), lambda: [].pop(), lambda: 1 / 0, lambda: [][5],
    ):
        try:
            fail()
        except Exception as error:
            told.append([type(error).__name__, str(error)])
    try:
        json.loads("[1,")
    except json.JSONDecodeError as error:
        told.append(isinstance(error, ValueError))
    try:
        re.compile("(")
    except re.error:
        told.append("pattern")
    try:
        raise AppError(7)
    except AppError as error:
        told.append([error.args, error.code, str(error), repr(error)])
    told.append([str(OSError(2, "gone", "a.txt")), str(FileGone(2, "gone")), str(ValueError("a", 1)), repr(KeyError("k"))])
    return told


def numbers():
    zone = timezone(timedelta(hours=2), "CEST")
    when = datetime(2026, 12, 1, 10, 30, tzinfo=zone)
    return [
        sum([1, 2.5, True]), sum([[1], [2]], []), sum(range(10**5)), sum(n * n for n in range(10)), sum(x for x in {1, 2}),
        math.gcd(12, 18), math.gcd(), math.gcd(0, 5, 10), list(itertools.combinations([1, 2, 3], 2))[:2], isinstance(Decimal(1), Decimal),
        type(Decimal(1)) is Decimal, isinstance(Counter(), Counter), isinstance(deque(), deque), type(defaultdict(int)) is defaultdict,
        str(Decimal((0, (1, 2, 5), -2))), when.strftime("%Y-%m-%d %H:%M %Z"), datetime.strptime("01/02/2026", "%d/%m/%Y").isoformat(),
        functools.reduce(operator.sub, [10, 3, 2]), operator.sub({1, 2}, {2}) == {1}, json.dumps({"d": Decimal("1.5"), "s": [deque([1])]}, default=list if False else str),
        json.dumps([1, {"a": 2}], separators=(",", ":")), base64.b64encode(b"x").decode(),
    ]


def jumps(values):
    done = []
    for value in values:
        try:
            try:
                if value == 1:
                    continue
                if value == 3:
                    break
                done.append(value)
            finally:
                done.append("inner")
        finally:
            done.append("outer")
    return done


class Grid:
    def __getitem__(self, key):
        return "a slice"


def handle(event, ctx):
    return [
        unpacking(), displays(), tables(), comparing(), searching(), texts(), errors(), numbers(), jumps([0, 1, 2, 3]),
        Grid()[1:5:2], Grid()["a":"b"],
    ]
