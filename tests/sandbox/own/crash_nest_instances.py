# crash: a linked list of 300000 instances is freed | expected: blocked at run
class N:
    def __init__(self, next):
        self.next = next

def handle(event, ctx):
    n = None
    for i in range(300000): n = N(n)
    n = None
    return 'blocked'
