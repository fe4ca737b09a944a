# memory: a defaultdict whose factory makes defaultdicts in itself | expected: blocked at run
def handle(event, ctx):
    from collections import defaultdict
    def make():
        d = defaultdict(make)
        return d[1]
    return 'PWNED' + str(defaultdict(make)[1])
