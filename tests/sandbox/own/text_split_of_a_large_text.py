# cpu: a text of 4 MB is split everywhere | expected: blocked at run
def handle(event, ctx):
    made = []
    for text in ("ab " * 1398000, "ab\n" * 1398000, "\U0001F600 " * 2097152):
        for split in (text.split, lambda: text.split(" "), text.rsplit, lambda: text.rsplit(" "), text.splitlines):
            try:
                made.append(split())
            except Exception:
                pass
    return "blocked" if max([len(parts) for parts in made], default=0) <= 1000000 else made
