# toctou: __eq__ of a key changes what is being copied | expected: blocked at run
import copy
from dataclasses import dataclass

source = {}
runs = [0]

@dataclass(frozen=True)
class Key:
    n: int
    def __eq__(self, other):
        runs[0] += 1
        if runs[0] < 10_000:
            source[runs[0]] = [source, runs]
            source.pop(runs[0] - 3, None)
        return False

def handle(event, ctx):
    for i in range(30): source[Key(i % 2 * (2 ** 61 - 1))] = [i]
    made = copy.deepcopy([source, {Key(0), Key(2 ** 61 - 1)}, source])
    return 'blocked' if made[0] is made[2] and made[0] is not source else 'PWNED'
