# cpu: __str__ that spins and swallows, when the error is reported | expected: blocked at run
class E(Exception):
    def __str__(self):
        while True:
            try:
                while True: pass
            except Exception: pass

def handle(event, ctx):
    raise E()
