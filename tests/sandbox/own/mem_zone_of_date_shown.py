# memory: a list of one date with a zone of a long name is shown | expected: blocked at run
from datetime import timezone, timedelta, datetime
def handle(event, ctx):
    when = datetime(2020, 1, 1, tzinfo=timezone(timedelta(0), 'a' * 4000000))
    return 'PWNED' + str(len(repr([when] * 199000)))
