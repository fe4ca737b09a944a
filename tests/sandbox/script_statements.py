"""Statements of the scripts that are made up: the module's head, and tables of what is said in them."""

from __future__ import annotations

from typing import Final

HEAD: Final = """\
import base64
import bisect
import copy
import datetime
import hashlib
import heapq
import json
import math
import operator
import random
import re
import statistics
import time
import uuid
from collections import Counter, defaultdict, deque
from dataclasses import asdict, astuple, dataclass, field, fields, is_dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cmp_to_key, lru_cache, partial, reduce
from itertools import accumulate, chain, combinations, compress, count, cycle, dropwhile, filterfalse, groupby, islice
from itertools import pairwise, permutations, product, repeat, starmap, takewhile, zip_longest
from urllib.parse import parse_qs, parse_qsl, quote, quote_plus, unquote, urlencode, urljoin, urlparse, urlsplit
from urllib.parse import urlunsplit
from zoneinfo import ZoneInfo

NOTES = []
TEXTS = True


def note(value):
    NOTES.append(str(value))
    return value


@lru_cache(maxsize=4)
def slow(number):
    NOTES.append('slow')
    return number * 2


def attempt(function):
    try:
        return function()
    except Exception as error:
        return told(error)


def told(error):
    if type(error).__name__ == 'LimitError':
        NOTES.append('LimitError')
        raise error
    return [type(error).__name__, said(error, str)]


def said(error, how):
    return how(error) if TEXTS else type(error).__name__


def args_of(error):
    return error.args


def shown(value):
    return repr(sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)


def as_dict(point):
    # Python 3.11 fails at a defaultdict in there
    return {} if 'defaultdict' in str([getattr(point, f.name) for f in fields(point)]) else asdict(point)


def copy_of(value, /, *rest, **named):
    return [value, *rest, sorted(named.items())]


class Failed(Exception):
    def __init__(self, code):
        super().__init__(f'failed with {code}')
        self.code = code
"""

AUGMENTED: Final = (
    ("<int>", "+= <int>"), ("<int>", "-= <int>"), ("<int>", "*= <int>"), ("<int>", "//= <int>"), ("<int>", "%= <int>"),
    ("<int>", "**= 2"), ("<int>", "<<= 1"), ("<int>", "|= <int>"), ("<float>", "/= <float>"), ("<str>", "+= <str>"),
    ("<str>", "*= <small>"), ("<str>", "%= <any>"), ("<ints>", "+= islice(<iter>, 5)"), ("<ints>", "*= 2"),
    ("<tuple>", "+= <tuple>"),
    ("<set>", "|= <set>"), ("<set>", "-= <set>"), ("<table>", "|= <table>"), ("<table>['a']", "+= <int>"),
    ("<table>['a']", "+= note(<int>)"), ("<ints>[<index>]", "-= <int>"), ("<counter>['z']", "+= <int>"),
    ("<lists>['k']", "+= <ints>"), ("<obj>.value", "+= <int>"), ("<obj>.extra", "*= note(<int>)"),
    ("<deque>", "+= <ints>"),
    ("<bytes>", "+= <bytes>"), ("<decimal>", "+= <decimal>"), ("<date>", "+= <delta>"), ("<counter>", "+= <counter>"),
    ("<ints>[<index>:<index>]", "= <iter>"), ("<ints>[<small>:]", "= <ints>"), ("<ints>[::2]", "= <ints>"),
    ("<table>[note('k')]", "= note(<int>)"), ("<ints>[note(0):note(1)]", "= note(<ints>)"), ("<obj>.value", "= <any>"),
    ("<obj>.double", "= <int>"), ("<point>.x", "= <any>"), ("<point>.x", "+= <int>"), ("<any>", "+= <any>"),
)  # fmt: skip

CHANGES: Final = (
    "<vints>.append(<int>)", "<vints>.extend(islice(<iter>, 5))", "<vints>.insert(<index>, <int>)",
    "<vints>.sort(key=<key>)", "<vints>.reverse()", "<vtable>.update(<table>)", "<vtable>.update(k=<int>)",
    "<vtable>.pop(<str>, None)",
    "<vset>.add(<int>)", "<vset>.update(<ints>)", "<vset>.discard(<int>)", "<vdeque>.appendleft(<int>)",
    "<vdeque>.rotate(<small>)", "<vcounter>.update(<strs>)", "<vcounter>.subtract(<counter>)",
    "<vlists>['n'].append(<int>)",
    "<vlists>[<str>].extend(<ints>)", "print(<any>)", "note(<vobj>.method(<int>))", "setattr(<vobj>, 'extra', <int>)",
    "note((walrus := <int>) + walrus)", "note([(double := item * 2) + double for item in [1, 2]])",
    "note(attempt(lambda: <vints>.remove(<int>)))", "note(attempt(lambda: <any>[<any>]))",
    "note(attempt(lambda: <any>(<any>)))",
    "note(attempt(lambda: <any> + <any>))", "note(attempt(lambda: <any> - <any>))",
    "note(attempt(lambda: <any> * <any>))",
    "note(attempt(lambda: <any> % <any>))", "note(attempt(lambda: <any> // <any>))",
    "note(attempt(lambda: <any> | <any>))",
    "note(attempt(lambda: [*<any>]))", "note(attempt(lambda: copy_of(*<any>)))",
    "note(attempt(lambda: copy_of(**<any>)))",
    "note(attempt(lambda: list(<any>)))", "note(attempt(lambda: <any> in <any>))",
    "note(attempt(lambda: sorted(<any>)))",
    "note(attempt(lambda: sum(<any>)))", "note(attempt(lambda: max(<any>)))", "note(attempt(lambda: int(<any>)))",
    "note(attempt(lambda: float(<any>)))", "note(attempt(lambda: len(<any>)))", "note(attempt(lambda: <any>.upper()))",
)  # fmt: skip

UNPACKED: Final = (
    ("{0}, {1}", "(<int>, <int>)"), ("{0}, *{2}", "[<int>, *<ints>]"),
    ("({0}, {1}), *{2}", "((1, <int>), *<nested>)"), ("*{2}, {0}", "(*<tuple>, 1)"),
    ("{0}, {1} = {1}, {0}", "(1, <int>)"), ("{0} = {1}", "<int>"), ("[{0}, *{2}]", "(1, *<iter>)"),
    ("{0}, {1}", "<ints>[:2]"),
)  # fmt: skip

PATTERNS: Final = (
    "0", "1 | 2 | 3", "-1", "None", "True", "'abc'", "[]", "[first]", "[first, *rest]", "(1, second)", "[[one, _], *_]",
    "{'a': 1}", "{'k': inside}", "{'a': a, **more}", "str()", "str(text)", "int(n) if n > 1", "float()",
    "list([one, *_])",
    "bool(flag)", "dict(d)", "tuple()", "bytes() | set()", "[1 | 2 as low, *_]", "{}",
)  # fmt: skip

SIGNATURES: Final = (
    ("a, b=2", ("(<int>)", "(<int>, b=<int>)", "(b=note(<int>), a=note(<int>))")),
    ("a, /, b, *, c=3", ("(<int>, <int>)", "(<int>, b=<int>, c=<int>)")),
    ("*items, c=3, **named", ("()", "(*<ints>)", "(<int>, c=<int>, d=<int>)", "(**<table>)")),
    ("a, *items, c", ("(<int>, c=<int>)", "(*<ints>, c=<int>)")),
    ("a=1, b=[]", ("()", "(<int>)", "(*<tuple>)")),
)  # fmt: skip

NUMBERS: Final = (
    "for number in range(most):\n    yield number",
    "yield from range(most)\nreturn 7",
    "try:\n    yield most\n    yield most + 1\nfinally:\n    most = 0",
    "got = yield most\nwhile got is None and most > 0:\n    most -= 1\n    got = yield most",
    "yield 1\nraise ValueError(most)",
)  # fmt: skip

ECHOES: Final = (
    "last = yield from numbers(2)\nyield last or 0\nyield from items",
    "yield from (item for item in items)\nyield len(items)",
    "source = iter(items)\nfor item in source:\n    yield item\n    yield next(source, -1)",
    "inner = numbers(3)\nyield next(inner)\ninner.close()\nyield from inner",
    "inner = numbers(1)\nnext(inner)\nyield inner.send(5)",
)  # fmt: skip

THING: Final = """\
extra = 1
def __init__(self, value):
    self.value = value
def __repr__(self):
    return f'{type(self).__name__}({self.value})'
def method(self, x, by=1):
    self.value += note(x)
    return self.value * by
@property
def double(self):
    return self.value * 2
@double.setter
def double(self, value):
    self.value = value
@staticmethod
def made(value):
    return Other(value)
@classmethod
def named(cls):
    return cls.__name__"""

SPECIAL: Final = (
    ("__repr__(self)", "return f'{type(self).__name__}!'"),
    ("__str__(self)", "return 'a thing'"),
    ("__str__(self)", "return 5"),
    ("__eq__(self, other)", "return isinstance(other, Thing) and self.value == other.value"),
    ("__lt__(self, other)", "return self.value < other.value"),
    ("__le__(self, other)", "return NotImplemented"),
    ("__len__(self)", "return 3"),
    ("__iter__(self)", "return iter([1, 2, 3])"),
    ("__iter__(self)", "yield 1\n"),
    ("__iter__(self)", "return 5"),
    ("__getitem__(self, index)", "return [4, 5, 6][index]"),
    ("__contains__(self, item)", "return item > 1"),
    ("__call__(self, x)", "return note(x) + 1"),
    ("__bool__(self)", "return False"),
)  # fmt: skip
