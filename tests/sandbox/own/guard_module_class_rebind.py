# escape: class body binds guards by for, with, import and except | expected: rejected at compile
class A:
    for _key_ in [1]: pass

def handle(event, ctx):
    return 'PWNED'
