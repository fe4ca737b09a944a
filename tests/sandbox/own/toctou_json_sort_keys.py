# cpu: json.dumps sorts by keys whose __eq__ makes the values deep | expected: blocked at run
import json
from dataclasses import dataclass
def deep():
    a = []
    for i in range(60): a = [a, a]
    return a
one, two = [], []
@dataclass(frozen=True)
class A:
    n: int
    def __eq__(self, other):
        one.append(deep()); two.append(deep())
        return True
def handle(event, ctx):
    'PWNED' + json.dumps({A(1): one, A(2): two}, sort_keys=True, skipkeys=True)
    return 'blocked'
