# cpu: exceptions that hold exceptions twice, 60 levels | expected: blocked at run
def handle(event, ctx):
    e = ValueError()
    for i in range(60): e = ValueError(e, e)
    raise e
