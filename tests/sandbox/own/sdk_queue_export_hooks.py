# escape: payloads whose containers change while they are brought out | expected: blocked at run
from picloud.sdk import queue
from collections import defaultdict

def handle(event, ctx):
    for payload in (defaultdict(list), {1: 1, '1': 2}, {None: 1, True: 2}, {float('nan'): 1}, [float('inf')], {'a' * 100000: 1}, {1: {2: {3: b'x'}}}, (1, (2, (3,))), {'x': ctx}, {'x': queue.enqueue}, [event], {'k': print}):
        try: queue.enqueue('q', payload)
        except Exception as error:
            if '0x' in str(error): return 'PWNED ' + str(error)
    return 'blocked'
