# leak: the fields of a dataclass of the same name survive | expected: blocked at run
@dataclass
class Row:
    n: int = 1
    rows: list = None

def handle(event, ctx):
    row = Row()
    if row.n != 1 or row.rows: return 'PWNED'
    Row.n = 2
    Row.rows = [1]
    return 'blocked'
