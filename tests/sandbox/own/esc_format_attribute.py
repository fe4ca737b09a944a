# escape: attributes and items in the template of str.format | expected: blocked at run
def handle(event, ctx):
    for template in ('{0.__class__}', '{0[0].__class__}', '{a.payload}', '{a[run]}', '{0:{0.__class__}}', '{0!r:{a.__init__}}'):
        try: return 'PWNED' + template.format(ctx, a=event)
        except ValueError: pass
        try: return 'PWNED' + template.format_map({'0': ctx, 'a': event})
        except (ValueError, KeyError): pass
    return 'blocked'
