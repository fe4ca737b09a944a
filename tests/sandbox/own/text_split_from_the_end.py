# cpu: a text is split from its end by one of half its length, which fits nearly everywhere | expected: blocked at run
def handle(event, ctx):
    text = "a" * 65000
    return len(text.rsplit("ab" + "a" * 32000))
