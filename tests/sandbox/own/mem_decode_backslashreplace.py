# cpu: decode with an error handler at each of 4 million bytes | expected: blocked at run
def handle(event, ctx):
    return 'PWNED' + str(len((b'\xff' * 4000000).decode('utf-8', 'backslashreplace')))
