"""Whole numbers as people write them. Pure.

`str.isdigit` is also true of texts that `int` refuses, such as a superscript two or thousands of digits.
"""

# More digits than anything that is counted here has.
_LONGEST = 18


def read_number(text: str) -> int | None:
    """Return the number that a text is, blanks around it aside; None if it is none, has a sign, or is out of reason."""
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST):
        return None
    return int(digits)
