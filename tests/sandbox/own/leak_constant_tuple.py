# leak: constants of the code are shared and changed | expected: blocked at run
def handle(event, ctx):
    rows = ([1, 2], {'a': 1})
    if len(rows[0]) != 2 or 'b' in rows[1]: return 'PWNED'
    rows[0].append(3)
    rows[1]['b'] = 1
    return 'blocked'
