# escape: the class of an error of the host makes others with deep text | expected: blocked at run
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    from picloud.sdk import invoke
    try: invoke('nothing')
    except Exception as error: kind = type(error)
    raise kind(deep())
