from dataclasses import dataclass
from datetime import date
from decimal import Decimal
@dataclass
class Box:
    size: int | None = None
NUMBER = int | float
def handle(event, ctx):
    text_or_none = str | None
    return [isinstance(1, int | str), isinstance('a', (int, float | str)), isinstance(None, int | None), isinstance(2.5, NUMBER), isinstance('2', NUMBER), isinstance(Box(), Box | None), isinstance([], text_or_none), issubclass(bool, NUMBER), isinstance(Decimal(1), Decimal | date), isinstance(date(2024, 1, 1), None | Decimal | date), repr(int | None), str(str | bytes | None), int | str == str | int, isinstance({1}, list | set | dict), len({int | str, str | int}), isinstance(ValueError(), KeyError | ValueError), {1} | {2} == {1, 2}, 5 | 2, {'a': 1} | {'b': 2}]
