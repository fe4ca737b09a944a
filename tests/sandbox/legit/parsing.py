import base64
import json
import uuid
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from urllib.parse import parse_qs, parse_qsl, quote, quote_plus, unquote, unquote_plus, urldefrag, urlencode, urljoin, urlparse, urlsplit, urlunparse, urlunsplit
def attempt(make):
    try: return make()
    except Exception as error: return [type(error).__name__, str(error)]
class Place:
    def __init__(self, data): self.data = data
def handle(event, ctx):
    u = urlparse('https://ann:pw@a.b:8080/c/d;p?x=1&x=2&y=#f')
    s = urlsplit('//h/p?q', 'http')
    out = [u.scheme, u.netloc, u.hostname, u.port, u.username, u.password, u.path, u.params, u.query, u.fragment, u.geturl(), list(u), u[1], u[1:3], len(u), tuple(u) == ('https', 'ann:pw@a.b:8080', '/c/d', 'p', 'x=1&x=2&y=', 'f'), u == urlparse(u.geturl()), repr(s), s.geturl(), s, s.port]
    scheme, netloc, path, query, fragment = s
    out += [urlunsplit((scheme, 'other', path, query, fragment)), urlunparse(u), urlunparse(['http', 'h', '/p', '', 'a=1', '']), urljoin('http://a/b/c', '../d?x'), urljoin('http://a/b/', 'c'), list(urldefrag('http://a/b#c')), urldefrag('x#y').url]
    out += [parse_qs('a=1&a=2&b='), parse_qs('a=1&b=', keep_blank_values=True), parse_qsl('a=1&b=2&b=%20'), parse_qsl('a=1;b=2', separator=';'), attempt(lambda: parse_qs('a', strict_parsing=True)), urlencode({'a': [1, 2], 'b': 'x y'}, doseq=True), urlencode([('a', 'x y')], quote_via=quote), urlencode({'a': '/'}, safe='/'), quote('ü/', safe='', encoding='latin-1'), quote_plus('a b&c'), unquote('%FC', encoding='latin-1'), unquote_plus('a+b%20c')]
    out += [attempt(lambda: urlparse('http://h:99999').port), attempt(lambda: urlsplit('http://[h'))]
    out += [str(json.loads('{"a": 1.50, "b": [2]}', parse_float=Decimal)['a']), json.loads('[1, 2.5]', parse_int=str, parse_float=str), json.loads('{"a": {"b": 1}}', object_hook=lambda d: list(d.items())), json.loads('{"a": 1, "a": 2}', object_pairs_hook=list), json.loads('{"b": 1}', object_pairs_hook=dict), json.loads('{"p": {"x": 1}}', object_hook=Place).data['p'].data, attempt(lambda: json.loads('[1]', parse_int=lambda text: int('x'))), json.loads('[NaN]', parse_constant=str), json.dumps({'a': 1, (1, 2): 2}, skipkeys=True), attempt(lambda: json.dumps(float('nan'), allow_nan=False))]
    out += [base64.b64decode('aGk=', validate=True), attempt(lambda: base64.b64decode('a$Gk=', validate=True))[0], base64.b64encode(b'\xfb\xff', b'-_'), base64.b64decode('-_8=', altchars='-_'), base64.b32encode(b'abc'), base64.b32decode('mfrgg===', casefold=True), base64.b16encode(b'\xab'), base64.b16decode('ab', True), base64.standard_b64encode(b'x'), base64.urlsafe_b64decode(b'-_8=')]
    out += [str(uuid.uuid5(uuid.NAMESPACE_DNS, 'example.org')), str(uuid.uuid3(uuid.NAMESPACE_URL, 'x')), uuid.UUID(int=5).hex, uuid.UUID('12345678-1234-5678-1234-567812345678').urn, uuid.UUID(hex='0' * 32) == uuid.UUID(bytes=b'\0' * 16), isinstance(uuid.uuid4(), uuid.UUID), type(uuid.uuid4()) is uuid.UUID, attempt(lambda: uuid.UUID('x'))]
    d = Decimal('2.675')
    out += [str(d.quantize(Decimal('0.01'), rounding=ROUND_HALF_UP)), str(d.quantize(Decimal('0.01'), ROUND_HALF_EVEN)), str(d.quantize(Decimal('1'), rounding=ROUND_DOWN)), str(round(d, 2)), round(d), str(d.to_integral_value(rounding=ROUND_HALF_UP)), d.as_tuple().exponent, list(d.as_tuple().digits), d.adjusted(), str(d.max(3)), attempt(lambda: Decimal('x'))[0]]
    return out
