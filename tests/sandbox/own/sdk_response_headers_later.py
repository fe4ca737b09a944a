# escape: headers changed after the Response was made | expected: blocked at run
def handle(event, ctx):
    answer = Response({}, headers={'X-A': 'b'})
    answer.headers['X-B'] = 'c\r\nSet-Cookie: a'
    return answer
