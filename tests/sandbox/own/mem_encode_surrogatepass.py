# cpu: encode with an error handler at each of 2 million surrogates | expected: blocked at run
def handle(event, ctx):
    text = chr(0xd800) * 4000000
    for name in ('utf-16', 'utf-32', 'utf-8'): text.encode(name, 'surrogatepass')
    text.encode('cp1252', 'xmlcharrefreplace')
    return 'blocked'
