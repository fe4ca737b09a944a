# cpu: str.maketrans of long texts | expected: blocked at run
def handle(event, ctx):
    a = ''.join([chr(i) for i in range(0x10000, 0x20000)]) * 60
    for i in range(3): a.translate(str.maketrans(a, a, a))
    return 'blocked'
