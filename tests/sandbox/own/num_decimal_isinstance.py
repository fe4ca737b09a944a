# escape: the class of a Decimal is the guarded function | expected: blocked at run
def handle(event, ctx):
    from decimal import Decimal
    try: type(Decimal(1))('9' * 100000)
    except LimitError: return 'blocked'
    return 'PWNED'
