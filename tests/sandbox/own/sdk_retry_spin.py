# cpu: retry.run of a function that swallows and spins | expected: blocked at run
from picloud.sdk import retry

def spin():
    try:
        while True: pass
    except Exception: pass

def handle(event, ctx):
    return 'PWNED' + str(retry.run(retry.policy(max_attempts=20, base_ms=1), spin))
