# toctou: the function of cmp_to_key makes the items longer while C code sorts them | expected: blocked at run
import functools

def deep():
    a = []
    for i in range(30): a = [a, a]
    return a

grown = [[], []]

def compare(a, b):
    for part in grown: part.append(deep())
    return 0

def handle(event, ctx):
    K = functools.cmp_to_key(compare)
    rows = [[K(1), grown[0]], [K(2), grown[1]]]
    rows.sort()
    return 'PWNED' if rows[0] < rows[1] and False else 'blocked'
