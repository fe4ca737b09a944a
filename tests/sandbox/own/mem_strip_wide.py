# cpu: strip with 1000 wide characters is n*m | expected: blocked at run
def handle(event, ctx):
    chars = ''.join([chr(0x100 * i + 0x34) for i in range(1, 200)]) * 4
    text = chr(0x3412) * 2000000 + chr(0x0134)
    for i in range(5): (chr(0x3434) * 2000000).strip(chars)
    return 'blocked'
