# leak: a retry policy is changed for the next app | expected: blocked at run
from picloud.sdk import retry
POLICY = retry.policy(on_codes=['a'])

def handle(event, ctx):
    if POLICY.max_attempts != 3: return 'PWNED'
    for name, value in (('max_attempts', 9), ('on_codes', [])):
        try: setattr(POLICY, name, value)
        except (AttributeError, TypeError): pass
    try: POLICY.on_codes.append('b')
    except AttributeError: pass
    return 'blocked'
