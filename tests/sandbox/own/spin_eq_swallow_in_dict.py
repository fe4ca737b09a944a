# evade: __eq__ of a dict key swallows and spins | expected: blocked at run
@dataclass(frozen=True)
class K:
    n: int
    def __eq__(self, other):
        while True:
            try:
                while True: pass
            except Exception: pass

def handle(event, ctx):
    return 'PWNED' + str({K(1): 1, K(1): 2})
