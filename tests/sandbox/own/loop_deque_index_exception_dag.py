# cpu: deque.index shows an exception that is not there, with its arguments | expected: blocked at run
from collections import deque
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
def handle(event, ctx):
    return 'PWNED' + str(deque([1]).index(ValueError(deep())))
