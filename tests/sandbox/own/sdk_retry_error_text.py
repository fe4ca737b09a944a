# cpu: retry on codes reads the text of an error that spins | expected: blocked at run
from picloud.sdk import retry

class E(Exception):
    def __str__(self):
        while True: pass

def fail(): raise E()

def handle(event, ctx):
    return 'PWNED' + str(retry.run(retry.policy(on_codes=['x']), fail))
