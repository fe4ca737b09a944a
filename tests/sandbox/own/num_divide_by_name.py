# num: long integers, grown by sums, divided by name, by the name's own value and in place | expected: blocked at run
def grown(bits):
    x = 1 << 60000
    while bits > 60000:
        x = x + x
        bits = bits - 1
    return x + 12345

def each(x, y):
    for change in (lambda x, y: x % y, lambda x, y: x // y):
        for _ in range(20):
            change(x, y)

def in_place(x, y):
    for _ in range(20):
        z = x
        z //= y
        z = x
        z %= y

def handle(event, ctx):
    x, y = grown(140000), grown(70000)
    done = []
    for divide in (each, in_place, lambda x, y: divmod(x, y), lambda x, y: pow(2, x, y)):
        try:
            divide(x, y)
        except LimitError:
            continue
        done.append(divide)
    return "PWNED" if done else "blocked"
