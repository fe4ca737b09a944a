# memory: findall of overlapping groups | expected: blocked at run
def handle(event, ctx):
    import re
    return 'PWNED' + str(len(re.findall('(?=(.*))', 'x' * 100000)))
