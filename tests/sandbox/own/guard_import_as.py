# escape: import as a guard | expected: rejected at compile
import json as _getattr_

def handle(event, ctx):
    return 'PWNED'
