"""How much text one card holds: past that, texts are shown by their beginning."""

from __future__ import annotations

from itertools import islice

from memories.characters import count_hidden
from memories.lookalikes import mixed_words

BEGINNING = 200  # characters of a text there is no room for
SIZE = 300_000  # characters of all texts together, each mark counted as MARK of them
MARK = 80  # what a token or a marked word takes in the page
MOST_MARKS = 1_000  # of each in one text; of more none is shown


class Room:
    """What is left of a card for whole texts. Once one did not fit, all that follow are
    cut, so that the cost of a card does not grow with what an agent names."""

    def __init__(self, size: int = SIZE) -> None:
        self.left = size

    def shown(self, text: str) -> str:
        """The text, or the beginning of it."""
        self.left -= len(text)
        if self.left > 0:
            self.left -= MARK * min(count_hidden(text), MOST_MARKS)
            self.left -= MARK * sum(1 for _ in islice(mixed_words(text), MOST_MARKS))
        return text if self.left > 0 else text[:BEGINNING]
