# memory: values of a % format that are long only when they are shown, each many times | expected: blocked at run
class Long:
    def __str__(self):
        return 'x' * 900000


def handle(event, ctx):
    return 'PWNED' + str(len('%(a)s' * 300 % {'a': Long()}))
