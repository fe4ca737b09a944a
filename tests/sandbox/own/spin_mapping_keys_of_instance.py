# cpu: ** of an object whose own attribute gives keys without end | expected: blocked at run
class Item:
    def __getitem__(self, key):
        return 1


def handle(event, ctx):
    item = Item()
    item.keys = lambda: iter(int, 1)
    return 'PWNED' + str((lambda **named: len(named))(**item))
