# leak: the args of an exception of the host survive | expected: blocked at run
import json
KEPT = []

def handle(event, ctx):
    try: json.loads('{')
    except ValueError as error:
        if 'leaked' in error.args: return 'PWNED'
        try: error.args = ('leaked',)
        except (AttributeError, TypeError): pass
    try: [].pop()
    except IndexError as error:
        if 'leaked' in str(error): return 'PWNED'
        try: error.args = ('leaked',)
        except (AttributeError, TypeError): pass
    return 'blocked'
