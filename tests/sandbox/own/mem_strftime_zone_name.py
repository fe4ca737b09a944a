# memory: strftime with a long time zone name many times | expected: blocked at run
def handle(event, ctx):
    from datetime import datetime, timezone, timedelta
    zone = timezone(timedelta(0), 'x' * 4000000)
    return 'PWNED' + str(len(datetime.now(zone).strftime('%Z' * 100)))
