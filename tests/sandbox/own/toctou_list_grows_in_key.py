# memory: a list grows while it is sorted, mapped and joined | expected: blocked at run
def handle(event, ctx):
    rows = [3, 1, 2]
    def key(n):
        rows.append(n)
        return n
    for f in (lambda: rows.sort(key=key), lambda: sorted(rows, key=key), lambda: max(rows, key=key), lambda: list(map(key, rows))):
        try: f()
        except ValueError: pass
    return 'PWNED'
