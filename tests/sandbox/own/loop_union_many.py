# cpu: isinstance() with a union of ever more types | expected: blocked at run
def handle(event, ctx):
    union = int | None
    for i in range(100_000):
        class A: pass
        union = union | A
    return 'PWNED' + str(isinstance(1.5, union))
