# escape: urlencode writes the address of an object | expected: blocked at run
from urllib.parse import urlencode
class A: pass

def handle(event, ctx):
    text = urlencode({'a': A(), 'b': [A()]})
    return 'PWNED' + text if '0x' in text else 'blocked'
