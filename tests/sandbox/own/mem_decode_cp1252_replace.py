# cpu: decode cp1252 with an error at each of 4 million bytes | expected: blocked at run
def handle(event, ctx):
    (b'\x81' * 4000000).decode('cp1252', 'replace')
    (b'\x81' * 4000000).decode('cp1252', 'ignore')
    (b'\x81' * 4000000).decode('ascii', 'backslashreplace')
    return 'blocked'
