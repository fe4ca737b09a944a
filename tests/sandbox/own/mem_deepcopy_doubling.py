# memory: copies of copies | expected: blocked at run
import copy

def handle(event, ctx):
    a = ['x']
    while True: a = copy.deepcopy(a) + copy.deepcopy(a)
