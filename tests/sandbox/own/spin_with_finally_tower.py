# evade: finally in except in finally | expected: blocked at run
def spin():
    while True: pass

def handle(event, ctx):
    try:
        try:
            try: spin()
            finally: spin()
        except Exception: spin()
        finally: spin()
    finally:
        for i in range(10):
            try: spin()
            finally: pass
    return 'PWNED'
