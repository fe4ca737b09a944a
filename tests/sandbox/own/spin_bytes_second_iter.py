# cpu: bytes() of an object that is iterable at the second attempt only | expected: blocked at run
from itertools import repeat


class Late:
    asked = 0

    def __iter__(self):
        Late.asked += 1
        if Late.asked == 1:
            raise TypeError('no')
        return repeat(1)


def handle(event, ctx):
    return 'PWNED' + str(len(bytes(Late())))
