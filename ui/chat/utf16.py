"""Python counts characters, Qt counts UTF-16 units: a way between the two."""

from bisect import bisect_left


class Units:
    """Offsets of one text in both counts."""

    __slots__ = ("_wide",)

    def __init__(self, text: str) -> None:
        self._wide = [] if text.isascii() else [n for n, c in enumerate(text) if c > "\uffff"]

    def unit(self, index: int) -> int:
        """The unit at which character `index` begins."""
        return index + (bisect_left(self._wide, index) if self._wide else 0)

    def index(self, unit: int) -> int:
        """The character that begins at `unit`, or holds it."""
        if not self._wide:
            return unit
        low, high = 0, len(self._wide)
        while low < high:  # how many wide characters end at or before the unit
            middle = (low + high) // 2
            if self._wide[middle] + middle + 2 <= unit:
                low = middle + 1
            else:
                high = middle
        is_inside = low < len(self._wide) and self._wide[low] + low + 1 == unit
        return unit - low - is_inside

    def range(self, start: int, end: int) -> tuple[int, int]:
        """First unit and number of units of the characters `start` to `end`."""
        first = self.unit(start)
        return first, self.unit(end) - first
