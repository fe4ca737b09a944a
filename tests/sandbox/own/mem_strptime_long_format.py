# memory: strptime keeps patterns made of long formats for every app | expected: blocked at run
def handle(event, ctx):
    from datetime import datetime
    for i in range(5):
        try: datetime.strptime('x', 'y' * 300000 + str(i))
        except ValueError: pass
    return 'blocked'
