# memory: split with overlapping groups | expected: blocked at run
def handle(event, ctx):
    import re
    return 'PWNED' + str(len(re.split('(?=(.*))', 'x' * 100000)))
