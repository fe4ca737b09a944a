# cpu: every method of a text of 4 million wide characters | expected: blocked at run
def handle(event, ctx):
    text = (chr(0x1e9e) + chr(0xdf) + ' ') * 1300000
    for f in (text.title, text.upper, text.casefold, text.swapcase, text.split, text.splitlines, text.isidentifier, text.encode, lambda: set(text), lambda: max(text), lambda: sorted(text), lambda: text.translate({97: 98}), lambda: repr(text), lambda: f'{text!a:>10}', lambda: text.count('a'), lambda: text.replace(' ', ''), lambda: list(text)):
        try: f()
        except LimitError: pass
    return 'blocked'
