# cpu: a property `args` that spins, when the error is shown | expected: blocked at run
class E(Exception):
    @property
    def args(self):
        while True: pass

def handle(event, ctx):
    raise E()
