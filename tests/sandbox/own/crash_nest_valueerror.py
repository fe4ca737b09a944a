# crash: 300000 nested valueerror objects are freed | expected: blocked at run
def handle(event, ctx):
    e = None
    for i in range(300000): e = ValueError(e)
    e = None
    return 'blocked'
