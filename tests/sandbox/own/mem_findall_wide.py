# memory: findall of every character of a long text | expected: blocked at run
import re
def handle(event, ctx):
    return 'PWNED' + str(len(re.findall('.', 'Āā' * 2000000)))
