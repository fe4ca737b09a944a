# cpu: hmac.new(digestmod=deep tuple) hashes it | expected: blocked at run
def deep():
    a = ()
    for i in range(60): a = (a, a)
    return a
def handle(event, ctx):
    import hmac
    return 'PWNED' + str(hmac.new(b'', b'', deep()))
