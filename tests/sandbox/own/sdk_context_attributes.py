# escape: attributes of ctx, event and the SDK that are not offered | expected: blocked at run
from picloud.sdk import queue, retry, log

def handle(event, ctx):
    for value in (ctx, event, queue, retry, log, invoke, Response, retry.policy, retry.policy()):
        for name in ('_execution', '_run', 'run_', 'engine', 'meter', 'job', 'world', 'unit', '__init__', '__globals__', 'func', '__self__', 'names', 'mro'):
            try: getattr(value, name)
            except (AttributeError, TypeError): continue
            return 'PWNED' + name
    return 'blocked'
