# memory: quote() keeps long `safe` texts for every app | expected: blocked at run
def handle(event, ctx):
    from urllib.parse import quote
    for i in range(100): quote('a', safe=str(i) + 'x' * 4000000)
    return 'blocked'
