# crash: the text of a UnicodeDecodeError reads outside of its bytes | expected: blocked at run
def handle(event, ctx):
    error = UnicodeDecodeError('utf-8', b'x', -10**15, -10**15 + 1, 'reason')
    return 'blocked' if str(error) else 'PWNED'
