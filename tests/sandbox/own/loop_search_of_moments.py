# cpu: moments of two time zones, each of which is asked at every comparison, are searched a million times | expected: blocked at run
from datetime import datetime
from zoneinfo import ZoneInfo

def handle(event, ctx):
    a = datetime(2020, 6, 1, 12, tzinfo=ZoneInfo("Europe/Berlin"))
    b = datetime(2020, 6, 1, 6, tzinfo=ZoneInfo("America/New_York"))
    return ([(b,) * 16] * 1000000).count((a,) * 16)
