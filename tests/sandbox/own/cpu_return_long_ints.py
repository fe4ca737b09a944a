# cpu: many long integers are returned | expected: blocked at run
def handle(event, ctx):
    return [10 ** 4299] * 9000
