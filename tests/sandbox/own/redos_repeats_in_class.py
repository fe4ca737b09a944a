# cpu: nested repeats after brackets that are none | expected: blocked at run
def handle(event, ctx):
    import re
    for pattern in ('[(](?:(?:a{99}b){999}){999}', '(?#[)(?:(?:ab){999}){999}(?#])', '(?x)#[\\n(?:(?:ab){999}){999}#]', '[]](?:(?:ab){999}){999}[]]', '[^]](?:(?:(?:ab){999}){999}){999}]'):
        try: re.compile(pattern)
        except (LimitError, re.error): continue
        return 'PWNED' + pattern
    return 'blocked'
