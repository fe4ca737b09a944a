# memory: __iter__ that feeds the list that is extended | expected: blocked at run
rows = [1]

def feed():
    for row in rows: yield row

def handle(event, ctx):
    rows.extend(feed())
    return 'PWNED'
