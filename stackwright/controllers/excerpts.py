"""What of a long text stands in a condition: its end, where a program says what it failed of. Pure."""

ELLIPSIS = "…"


def keep_end(text: str, longest: int) -> str:
    """Return the end of a text that is too long, in whole words and `longest` characters at most.

    Words are separated by single spaces: a condition is one line.
    """
    words = " ".join(text.split())
    if len(words) <= longest:
        return words
    room = longest - len(ELLIPSIS) - 1
    end = words[-room:]
    if words[-room - 1] != " ":
        _, space, whole = end.partition(" ")
        end = whole if space else end
    return f"{ELLIPSIS} {end.lstrip()}"


def keep_ends(text: str, longest: int, beginning: int) -> str:
    """Return the first words of a text that is too long, in `beginning` characters at most, and its end."""
    words = " ".join(text.split())
    if len(words) <= longest:
        return words
    first = words[:beginning]
    if words[beginning] != " ":
        whole, space, _ = first.rpartition(" ")
        first = whole if space else first
    return f"{first.rstrip()} {keep_end(words, longest - len(first.rstrip()) - 1)}"
