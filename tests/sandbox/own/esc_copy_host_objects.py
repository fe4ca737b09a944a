# escape: copies of objects of the host | expected: blocked at run
import copy, json, random, re, hashlib

def handle(event, ctx):
    hosts = [ctx, event, json, re.compile('a'), hashlib.md5(b''), random.Random(1), (x for x in [1]), iter([1]), {}.keys(), ValueError(json), property(len)]
    for host in hosts:
        for make in (copy.copy, copy.deepcopy, lambda x: copy.deepcopy([x])):
            try: made = make(host)
            except TypeError: continue
            if made is not host: return 'PWNED' + repr(made)
    return 'blocked'
