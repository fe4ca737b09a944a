# escape: the text of an OSError shows the address of its file name | expected: blocked at run
def handle(event, ctx):
    class A: pass
    text = str(OSError(1, 'a', A()))
    return 'PWNED ' + text if '0x' in text else 'blocked'
