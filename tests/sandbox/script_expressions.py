"""Expressions of the scripts that are made up: templates by the type of their value, three spaces between them.

`<int>` stands for any expression of that type, `<vint>` for the name of a variable of that type. Sets are only looked
at in ways that do not show their order: Python promises none.
"""

from __future__ import annotations

import re
from typing import Final

LITERALS: Final = {
    "int": "0 1 2 3 5 7 12 255 -1 -4 True".split(),
    "small": "0 1 2 3 4".split(),
    "index": "0 1 2 -1 -2 3 9".split(),
    "float": "0.5 1.5 -2.25 3.0 1e3 0.1 100.0".split(),
    "bool": "True False".split(),
    "str": ["'abc'", "''", "'a b'", "'Hello, World'", "'a,b,,c'", "'42'", "' x '", "'ünï'", "'tab\\there'", "\"it's\""],
    "bytes": ["b'ab'", "b''", "b'\\x00\\xff'", "b'a,b'", "b'Zm9v'"],
    "ints": ["[3, 1, 2]", "[]", "[5]", "[1, 1, 2, 3]", "[0, -1]"],
    "strs": ["['b', 'a']", "[]", "['x', 'yy', '']"],
    "nested": ["[[1, 2], [3]]", "[[], [0]]", "[(1, 2), (3, 4)]"],
    "table": ["{'a': 1, 'b': 2}", "{}", "{'x': 5}"],
    "tuple": ["(1, 2)", "()", "(1,)", "(3, 1, 2)"],
    "set": ["{1, 2, 3}", "set()", "{2}"],
    "none": ["None"],
    "mode": ["'strict'", "'ignore'", "'replace'"],
    "align": ["'>6'", "'<5'", "'^7'", "'03'", "'x'", "',d'", "'.2f'", "''", "'5s'", "'!'", "'+'"],
    "date": ["datetime.datetime(2024, 2, 28, 12, 30)", "datetime.datetime(2023, 12, 31)"],
    "day": ["datetime.date(2024, 2, 29)", "datetime.date(1999, 1, 1)"],
    "delta": ["datetime.timedelta(days=1, hours=2)", "datetime.timedelta(seconds=90)", "datetime.timedelta(0)"],
    "decimal": ["Decimal('0.1')", "Decimal('12.50')", "Decimal(3)", "Decimal('-7')"],
    "counter": ["Counter('aab')", "Counter(a=2, c=1)", "Counter()"],
    "deque": ["deque([1, 2, 3])", "deque([4, 5], maxlen=2)", "deque()"],
    "lists": ["defaultdict(list, {'k': [1]})", "defaultdict(list)"],
    "unary": ["lambda x: x + 1", "lambda x, by=2: x * by", "abs", "lambda x: -x", "note", "partial(max, 2)"],
    "binary": ["lambda x, y: x - y", "max", "operator.add", "operator.mul", "lambda *xs: len(xs)"],
    "test": ["lambda x: x > 1", "lambda x: x % 2", "bool", "lambda x: not x"],
    "key": ["abs", "lambda x: -x", "lambda x: x % 3", "None", "str", "lambda x: (x % 2, x)"],
    "error": ["ValueError('bad')", "KeyError('k')", "TypeError('a', 1)", "IndexError()", "OSError(2)"],
    "kind": ["int", "str", "list", "dict", "float", "bool", "tuple", "bytes", "(int, str)", "ValueError", "set"],
    "obj": ["Thing(1)", "Other(2)"],
    "point": ["Point(1)", "Point(2, 3)"],
    "pattern": [r"r'\w+'", r"r'(\d)(\d)?'", "'a'", r"r'[,\s]+'", r"r'(?P<first>[a-z])'", "'l+'", "'^.'", "''"],
}  # fmt: skip

CONSTANTS: Final = {kind: choices[0] for kind, choices in LITERALS.items()}
"""What a variable's name falls back to where no variable is in scope: a constant of the module."""

_TEMPLATES: Final = {
    "int": r"""
<int> + <int>   <int> - <int>   <int> * <int>   <int> // <int>   <int> % <int>   <int> ** <small>   -<int>   ~<int>
<int> & <int>   <int> | <int>   <int> ^ <int>   <int> << <small>   <int> >> <small>   <int> if <bool> else <int>
<int> and <int>   <int> or <int>   note(<int>) + note(<int>)   len(<any>)   len(<str>) + len(<ints>)
<ints>[<index>]   <tuple>[<index>]   <nested>[<index>][<small>]   <table>[<str>]   <table>.get(<str>, <int>)
<bytes>[<index>]   sum(<ints>)   sum(<iter>, <int>)   max(<ints>, default=<int>)   min(<int>, <int>)
max(<ints>, key=<key>)   <ints>.index(<int>)   <ints>.count(<int>)   <vints>.pop(<index>)   <str>.count(<str>)
<str>.find(<str>)   <str>.rfind(<str>, <small>)   <str>.index(<str>)   <bytes>.find(<bytes>)   int(<str>)
int(<str>, 16)   int(<float>)   int(<decimal>)   ord(<str>[<index>])   abs(<int>)   round(<float>)
divmod(<int>, <int>)[0]   pow(<int>, <small>, 7)   (<unary>)(<int>)   (<binary>)(<int>, <int>)
next(iter(<iter>), <int>)   next(<iter>)   reduce(<binary>, <ints>)   reduce(<binary>, <iter>, <int>)
math.floor(<float>)   math.gcd(<int>, <int>)   math.factorial(<small>)   math.comb(<small>, <small>)
math.isqrt(<int>)   math.prod(<ints>)   math.lcm(<int>, <int>)   (<vint>).bit_length()
int.from_bytes(<bytes>, 'big')   <date>.year   <date>.weekday()   (<date> - <date>).days   <delta>.seconds
<counter>[<str>]   <counter>.total()   <deque>[<index>]   <vdeque>.popleft()   len(<set> & <set>)   hash(int(<int>))
sum(<int> for item in <ints> if item)   sum(1 for left, right in <nested>)   operator.itemgetter(<index>)(<ints>)
json.loads(<str>)   <table>.setdefault(<str>, <int>)   (lambda x, *rest, k=<int>: x + k + len(rest))(*<ints>)
(lambda *, k: k)(k=<int>)   <obj>.value   <vobj>.double   <vobj>.method(<int>)
<vobj>.method(note(<int>), by=<int>)   <vobj>.made(<int>).value   len(<obj>)   <obj>[<index>]   <obj>(<int>)
<point>.x   <vpoint>.missing(note(<int>))   (<vint>).missing(note(<int>))   len({Point(<int>), Point(<int>)})
int(<any>)   <call>   copy_of(<call>, *<ints>)[0]
<counter>.total() + (<decimal>).adjusted()   len(uuid.uuid5(uuid.NAMESPACE_DNS, str(<str>)).hex)   slow(<int>)
sorted(<ints>, key=cmp_to_key(lambda x, y: y - x))[<index>]   operator.methodcaller('count', <int>)(<ints>)
random.Random(int(<int>)).randint(0, 100)   urlsplit(str(<str>)).port
bisect.bisect(<ints>, <int>)   bisect.bisect_left(<ints>, <int>, key=<unary>)   heapq.heappop(<ints>)
statistics.median_low([int(<int>), 3])   statistics.mode(<strs> or <ints>)""",
    "float": r"""
<int> / <int>   <float> + <float>   <float> * <int>   <float> - <float>   <float> ** 2   <float> // <float>
<float> % <float>   -<float>   float(<int>)   float(<str>)   round(<float>, <small>)   math.sqrt(<float>)
math.fsum([<float>, <float>])   <delta>.total_seconds()   abs(<float>)   max(<float>, <int>)
sum([<float>, <float>])   float(<decimal>)   round(<any>, 2)   float(<any>)   <delta> / <delta>
math.hypot(<int>, <int>)
math.dist(<ints>, <tuple>)   random.Random(str(<str>)).random()   math.remainder(<float>, <int>)
statistics.fmean([int(<int>), 4])   statistics.median([int(<int>), 3])   statistics.pstdev([int(<int>), 5])""",
    "bool": r"""
<int> < <int>   <int> <= <int> < <int>   <int> == <float>   <str> < <str> != <str>   <ints> == <ints>
<ints> < <ints>   <tuple> >= <tuple>   <int> in <ints>   <str> in <str>   <int> not in <tuple>   <str> in <table>
<int> in <set>   not <any>   <any> is None   <any> is not <any>   <any> == <any>   <any> != <any>   <any> < <any>
bool(<any>)   <bool> and <bool>   <bool> or <bool>   isinstance(<any>, <kind>)   issubclass(<kind>, <kind>)
callable(<any>)   hasattr(<any>, 'append')   any(<ints>)   all(<iter>)   any(<test> for item in <ints>)
<str>.startswith(<str>)   <str>.endswith((<str>, <str>))   <str>.isdigit()   <str>.isalpha()   <float>.is_integer()
<set> <= <set>   <set> == <set>   <set>.isdisjoint(<ints>)   <set>.issubset(<ints>)   <date> < <date>
<decimal> > <int>   <decimal> == <float>   <table>.keys() == <set>   math.isclose(<float>, <float>)
bool(re.search(<pattern>, <str>))   <obj> == <obj>   <obj> < <obj>   <int> in <obj>
isinstance(<obj>, <vobj>.kinds)   <point> == <point>   <point> < <point>   bool(<obj>)
isinstance(<any>, int | None)   isinstance(<any>, str | (float | list))   isinstance(<any>, None | bytes)
is_dataclass(<any>)   urlsplit(str(<str>)) == urlsplit(str(<str>))""",
    "str": r"""
<str> + <str>   <str> * <small>   <str>[<index>]   <str>[<index>:<index>]   <str>[::-1]   <str>[<small>::2]
str(<any>)   repr(<any>)   f"{<vany>}{<vint>}"   f"{<vint>}|{<vstr>!r:>8}|{<vfloat>:.2f}"   f"{<vint>:>{<vint>}}"
f"{<vints>} {<vtable>}"   f"{<vint>=} {<vstr>!s} {<vstr>!a}"   f"{<vany>!a}"   f"{<vfloat>:{<vfloat>:.0f}.1f}"
f"{<vdate>:%Y-%m} {<vdecimal>:.1f}"   format(<int>, <align>)   format(<float>, <align>)   format(<str>, <align>)
format(<any>, <align>)   '%s=%d' % (<str>, <int>)   '%r %s' % (<any>, <any>)
'%5.1f|%-4s|%x' % (<float>, <str>, <int>)   '%(a)s' % <table>   '%s' % <any>   '%d' % <any>   <str> % <any>
<str>.upper()   <str>.title()   <str>.strip()   <str>.strip(<str>)   <str>.lstrip('a')   <str>.replace(<str>, <str>)
<str>.replace(<str>, <str>, <small>)   <str>.join(<strs>)   ','.join(<any>)   ','.join(str(item) for item in <ints>)
<str>.center(<int>, '*')   <str>.ljust(<small>)   <str>.zfill(<int>)   <str>.partition(<str>)[<index>]
<str>.removeprefix(<str>)   <str>.casefold().capitalize()   <str>.translate(str.maketrans('ab', 'xy'))
<str>.expandtabs(<small>)   <str> or <str>   <str> if <bool> else <str>   chr(<int>)   hex(<int>)   bin(<int>)
<bytes>.decode()   <bytes>.decode('latin-1')   <bytes>.decode('ascii', <mode>)
<bytes>.decode(encoding='ascii', errors=<mode>)   str(<bytes>, 'utf-8', <mode>)   str(<bytes>, encoding='ascii')
<bytes>.hex()   json.dumps(<any>)   json.dumps(<table>, sort_keys=True, indent=2)
json.dumps(<any>, default=str, separators=(',', ':'))   base64.b64encode(<bytes>).decode()
hashlib.sha256(<bytes>).hexdigest()   hashlib.md5(<str>.encode()).hexdigest()   quote(<str>)   quote(<str>, safe='')
unquote(<str>)   urlencode(<table>)   urlencode({'q': <any>})   re.sub(<pattern>, <str>, <str>)
re.sub(<pattern>, lambda m: m.group(0).upper(), <str>)   re.sub(<pattern>, '-', <str>, count=1)
re.sub(<pattern>, '-', <str>, <small>, re.I)   re.escape(<str>)   <date>.isoformat()
<date>.strftime('%d.%m.%Y %H:%M')   str(<delta>)   str(<date>)   str(<decimal>)   min(<strs>)   <strs>[<index>]
<error>.args[0]   type(<any>).__name__   repr(<obj>)   f"{<vobj>} {<vpoint>!r}"   str(<point>)   str(<error>)
repr(<error>)
'{} {!r:>6}'.format(<any>, <str>)   '{0:>{1}}|{0!a}'.format(<str>, <small>)   '{a}'.format_map(<table>)
'{x:.2f}{{}}'.format(x=<float>)   '{:{}}'.format(<int>, <align>)   <str>.format(<any>, a=<int>)
urljoin(str(<str>), str(<str>))   urlparse(str(<str>)).path   urlunsplit(urlsplit('http://h/' + str(<str>)))
quote_plus(<str>)   str(<decimal>.quantize(Decimal('0.1'), rounding=ROUND_HALF_UP))
time.strftime('%Y-%j', time.gmtime(<int>))
str(uuid.UUID(int=<int>))   str(int | None)   operator.attrgetter('x')(<point>) and <str>""",
    "bytes": r"""
<bytes> + <bytes>   <bytes> * <small>   <bytes>[<index>:]   <str>.encode()   <str>.encode('ascii', <mode>)
<str>.encode(encoding='utf-8', errors=<mode>)   bytes(<str>, 'utf-8')
bytes(<str>, encoding='latin-1', errors='replace')   bytes(<ints>)   bytes(<small>)   bytes(<any>)
b','.join(<bytes>.split(b'a'))   base64.b64decode(<bytes>)   base64.urlsafe_b64encode(<bytes>)
(<int>).to_bytes(2, 'big')   (<vint>).to_bytes(<small>, 'little', signed=True)   <bytes>.replace(<bytes>, <bytes>)
<bytes>.upper()   b'%d' % <int>   hashlib.sha1(<bytes>).digest()[:4]   bytes.fromhex(<bytes>.hex())
base64.b64decode(<bytes>, validate=True)   base64.b32encode(<bytes>)   base64.b16decode(<bytes>, True)""",
    "ints": r"""
<ints> + <ints>   <ints> * <small>   <ints>[<index>:<index>]   <ints>[::-1]   list(<iter>)   list(<tuple>)
list(<bytes>)   list(<deque>)   sorted(<ints>)   sorted(<iter>, key=<key>, reverse=<bool>)   sorted(<set>)
[<int>, <int>]   [<int>, *<ints>]   [*<ints>, *<tuple>]   [item * 2 for item in <ints>]
[item for item in <iter> if <bool>]   [left + right for left in <ints> for right in <tuple>]
[<int> for part in <nested> for item in part]   list(map(<unary>, <ints>))   list(filter(<test>, <ints>))
list(range(<small>))   list(range(<int>, <small>, -1))   list(<table>.values())   <table>.get(<str>, <ints>)
list(accumulate(<ints>))   list(accumulate(<ints>, <binary>, initial=<int>))   list(chain(<ints>, <tuple>))
list(islice(<iter>, <small>))   list(islice(count(<int>, <small>), <small>))   list(islice(cycle(<ints>), 4))
list(takewhile(<test>, <ints>))   list(dropwhile(<test>, <ints>))   list(reversed(<ints>))   list(reversed(<deque>))
<nested>[<index>]   <ints>.copy()   list(repeat(<int>, <small>))
[len(list(group)) for key, group in groupby(<ints>, <key>)]   <vlists>[<str>]
list(chain.from_iterable(<nested>))   copy.copy(<ints>)   copy.deepcopy(<ints>)   list(starmap(max, <nested>))
[part for part in filterfalse(<test>, <iter>)]   sorted(<ints>, key=cmp_to_key(lambda x, y: x - y))
list(compress(<ints>, <tuple>))   [slow(item) for item in <ints>]   json.loads(json.dumps(<ints>), parse_int=float)
<vlists>.setdefault(<str>[<index>], [])   <vtable>.setdefault(<str>[<index>], {}) and <ints>
heapq.nlargest(<small>, <ints>)   heapq.nsmallest(<small>, <iter>, key=<key>)   list(heapq.merge(<ints>, <tuple>))
statistics.multimode(<ints>)""",
    "strs": r"""
<str>.split()   <str>.split(<str>)   <str>.split(',', <small>)   <str>.rsplit(',', 1)
<str>.split(sep=',', maxsplit=1)   <str>.rsplit(sep=',', maxsplit=1)   <str>.splitlines(keepends=True)   list(<str>)
sorted(<strs>)   sorted(<table>)   list(<table>)   sorted(<strs>, key=len)   [item.upper() for item in <strs>]
[str(item) for item in <ints>]   <strs> + <strs>   list(map(str, <any>))   [f'{item!r:>4}' for item in <strs>]
re.findall(<pattern>, <str>)   re.findall(<pattern>, <str>, re.I)   re.split(<pattern>, <str>)
[m.group() for m in re.finditer(<pattern>, <str>)]   [key for key, value in <table>.items() if value]
sorted(<counter>.elements())   list(urlsplit(str(<str>)))   [f.name for f in fields(<vpoint>)]
[str(item) for item in (<decimal>).as_tuple().digits]""",
    "nested": r"""
[<ints>, <ints>]   [[item, <int>] for item in <ints>]   list(zip(<ints>, <tuple>))
list(zip(<ints>, <ints>, strict=True))   list(enumerate(<strs>, start=<small>))
list(zip_longest(<ints>, <tuple>, fillvalue=<int>))   list(product(<ints>, repeat=2))
list(combinations(<ints>, 2))   list(permutations(<tuple>, 2))   list(pairwise(<ints>))   list(<table>.items())
sorted(<table>.items(), key=lambda pair: -pair[1])   <counter>.most_common(<small>)
[divmod(item, 2) for item in <ints>]   list(map(lambda x, y: [x, y], <ints>, <tuple>))
copy.deepcopy(<nested>)   parse_qsl(str(<str>), keep_blank_values=<bool>)   [astuple(Point(x=1, y=7))]
json.loads(json.dumps(<nested>), parse_int=str)""",
    "table": r"""
{**<table>, <str>: <int>}   {<str>: <int>}   {<any>: <int>}   dict(<table>)   dict(<table>, z=<int>)
dict(<nested>)   dict(<any>)   dict(zip(<strs>, <ints>))   dict.fromkeys(<strs>, <int>)
{key: value + 1 for key, value in <table>.items()}   {str(item): item for item in <ints>}   <table> | <table>
<table>.copy()   json.loads(json.dumps(<table>))   dict(<counter>)   dict(sorted(<table>.items()))   parse_qs(<str>)
as_dict(<vpoint>)
json.loads(json.dumps(<table>), object_hook=<unary>)   json.loads(json.dumps(<table>), object_pairs_hook=dict)
parse_qs(str(<str>), keep_blank_values=True)   copy.deepcopy(<table>)   copy.copy(<lists>)""",
    "tuple": r"""
tuple(<ints>)   tuple(<iter>)   <tuple> + <tuple>   <tuple> * <small>   <tuple>[<index>:]   (<int>, <str>)
(*<ints>, <int>)   divmod(<int>, <int>)   tuple(item for item in <ints>)   <float>.as_integer_ratio()
(note(<int>), note(<int>))   <tuple> if <bool> else <tuple>""",
    "set": r"""
set(<ints>)   {<int>, <int>}   {<int>, *<ints>}   {item % 3 for item in <ints>}   <set> | <set>   <set> & <set>
<set> - <set>   <set> ^ <set>   <set>.union(<ints>, <tuple>)   <set>.intersection(<ints>)   <set>.difference(<set>)
<set>.symmetric_difference(<ints>)   set(<any>)   {<any>}   <set>.copy()""",
    "iter": r"""
<ints>   <tuple>   range(<small>)   iter(<ints>)   map(<unary>, <ints>)   filter(<test>, <tuple>)
filter(None, <ints>)   (item for item in <ints>)   (item + 1 for item in <iter> if <bool>)   reversed(<ints>)
chain(<ints>, <iter>)   islice(<ints>, <small>)   iter([1, 2, 3].pop, <int>)   <table>.values()   numbers(<small>)
<obj>   echo(<ints>)""",
    "date": r"""
<date> + <delta>   <date> - <delta>   <vdate>.replace(year=<int>)   <vdate>.replace(hour=<small>)
datetime.datetime.fromisoformat(<str>)   datetime.datetime.strptime(<str>, '%Y-%m-%d')
datetime.datetime(2020, <int>, <small>)   datetime.datetime.combine(<day>, datetime.time(<small>))
datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)   max(<date>, <date>)
datetime.datetime(2024, 1, 1, tzinfo=ZoneInfo('Europe/Berlin')) + <delta>
<date>.replace(tzinfo=ZoneInfo('America/New_York')).astimezone(ZoneInfo('Asia/Tokyo'))""",
    "day": r"""
<date>.date()   <day> + <delta>   datetime.date(2024, <small>, <int>)   <vday>.replace(day=<small>)""",
    "delta": r"""
<delta> + <delta>   <delta> * <small>   -<delta>   <date> - <date>   datetime.timedelta(minutes=<int>)
sum([<delta>, <delta>], <delta>)""",
    "decimal": r"""
<decimal> + <decimal>   <decimal> * <int>   <decimal> / <decimal>   <decimal> - <int>   <decimal> // <int>
<decimal> % <int>   <decimal> ** 2   Decimal(<int>)   Decimal(<str>)   Decimal(<any>)
<decimal>.quantize(Decimal('0.01'))   round(<decimal>, 1)   sum([<decimal>, <decimal>])   -<decimal>
abs(<decimal>)""",
    "counter": r"""
Counter(<str>)   Counter(<ints>)   Counter(<table>)   <counter> + <counter>   <counter> - <counter>
<counter> | <counter>   <counter> & <counter>   +<counter>   <counter>.copy()""",
    "deque": r"""
deque(<ints>)   deque(<iter>, maxlen=<small>)   <deque> + <deque>   <deque>.copy()   <deque> * <small>""",
    "lists": r"""
defaultdict(list)   <lists>.copy()   <lists> | <lists>""",
    "error": r"""
ValueError(<any>)   KeyError(<any>)   RuntimeError(<str>, <int>)   Failed(<int>)   Exception(<error>)""",
    "obj": r"""
Thing(<int>)   Other(<int>)   <vobj>.made(<int>)""",
    "point": r"""
Point(<int>)   Point(<int>, <int>)   Point(x=<int>)   Point(<any>, y=<any>)
replace(<point>, y=<any>)   copy.deepcopy(<point>)   replace(<vpoint>)""",
    "any": r"""
<int>   <float>   <str>   <bool>   <none>   <bytes>   <ints>   <strs>   <nested>   <table>   <tuple>   <date>
<day>   <delta>   <decimal>   <counter>   <deque>   <lists>   <obj>   <point>   <int> if <bool> else <any>
{'k': <any>}   [<any>, <any>]   {str(key): [value, <any>] for key, value in <table>.items()}
getattr(<obj>, 'value', <any>)   json.loads(json.dumps(<any>))   copy_of(<any>)
copy.deepcopy(<any>)""",
}

TEMPLATES: Final = {
    kind: [template for template in re.split(r"\n| {3}", text) if template] for kind, text in _TEMPLATES.items()
}
