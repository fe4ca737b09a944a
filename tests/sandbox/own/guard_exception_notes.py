# escape: notes, cause, context and traceback of an exception | expected: blocked at run
def handle(event, ctx):
    try:
        try: 1 / 0
        except ZeroDivisionError as first: raise ValueError('a') from first
    except ValueError as error:
        for name in ('__cause__', '__context__', '__traceback__', '__notes__', 'add_note', 'with_traceback', '__suppress_context__'):
            if hasattr(error, name): return 'PWNED' + name
            try: setattr(error, name, None)
            except (AttributeError, TypeError): continue
            return 'PWNED' + name
    return 'blocked'
