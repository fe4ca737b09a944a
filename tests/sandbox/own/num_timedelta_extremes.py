# cpu: dates and durations at their ends | expected: blocked at run
def handle(event, ctx):
    from datetime import datetime, timedelta, timezone, date
    big = 1 << 60000
    for f in (lambda: timedelta(days=big), lambda: timedelta(1) * big, lambda: timedelta.max * 2, lambda: timedelta.max / 1e-300,
              lambda: timedelta(1) // timedelta.resolution, lambda: datetime.max + timedelta(1), lambda: datetime.fromtimestamp(big),
              lambda: datetime.fromtimestamp(1e300), lambda: date.fromordinal(big), lambda: timezone(timedelta(days=2)),
              lambda: timedelta(1) % timedelta.resolution, lambda: timedelta(seconds=float('nan')), lambda: datetime.min.timestamp(),
              lambda: datetime.min.astimezone(timezone.utc), lambda: datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=23))).isoformat(),
              lambda: datetime.max.replace(tzinfo=timezone(timedelta(hours=-23))).astimezone(timezone.utc)):
        try: f()
        except (ArithmeticError, LimitError, TypeError, ValueError, OSError): pass
    return 'blocked'
