"""Damages the text of a header."""

import re


def damaged_text(text, word, pieces, rng):
    """The text with up to 3 pieces inserted, put in place of what matches `word`, or removed."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        start, end = rng.choice([match.span() for match in re.finditer(word, text)] or [(0, 0)])
        kind = rng.random()
        if kind < 0.35:
            end = start
        elif kind < 0.45:
            start = end = rng.randrange(len(text) + 1)
        text = text[:start] + (b"" if kind > 0.9 else rng.choice(pieces)) + text[end:]
    return text
