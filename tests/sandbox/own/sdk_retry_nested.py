# cpu: retry.run in retry.run 20 levels deep | expected: blocked at run
from picloud.sdk import retry
POLICY = retry.policy(max_attempts=20, base_ms=1, backoff='constant', jitter_pct=0)

def level(n):
    if n == 0: raise ValueError('x')
    return retry.run(POLICY, lambda: level(n - 1))

def handle(event, ctx):
    return 'PWNED' + str(level(20))
