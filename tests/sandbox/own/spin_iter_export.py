# cpu: a dataclass with a spinning property comes out of the handler | expected: blocked at run
@dataclass
class Row:
    n: int = 1

    @property
    def m(self):
        while True: pass

def handle(event, ctx):
    import dataclasses
    return dataclasses.asdict(Row()) and Row().m
