# memory: a list of the characters of a long text | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len(list('Āā' * 2000000)))
