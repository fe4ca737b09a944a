# cpu: a template of a million empty fields | expected: blocked at run
def handle(event, ctx):
    template = '{0}' * 1_300_000
    while True: template.format('')
