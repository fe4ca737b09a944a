# memory: sub with overlapping groups in the template | expected: blocked at run
def handle(event, ctx):
    import re
    return 'PWNED' + str(len(re.sub('(?=(.*))', '\\1' * 30, 'x' * 100000)))
