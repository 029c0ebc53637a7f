"""Names as Keystone's database compares them: case, accents, and blanks at the end make no difference there. Pure."""

import unicodedata


def fold_name(name: str) -> str:
    """Return the same for all names that the database may take for one."""
    spread = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    return "".join(character for character in spread if not unicodedata.combining(character)).strip()
