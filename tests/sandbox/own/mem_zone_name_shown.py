# memory: a list of one time zone with a long name is shown | expected: blocked at run
from datetime import timezone, timedelta, datetime
def handle(event, ctx):
    zone = timezone(timedelta(0), 'a' * 4000000)
    return 'PWNED' + str(len(repr([zone] * 199000)))
