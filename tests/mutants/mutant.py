"""What a mutant is: one wrong change of the product, as data, and the tests that must fail of it."""

from dataclasses import dataclass
from pathlib import Path


class DoesNotApply(Exception):
    """The text of a mutant is not in its file exactly once: the product has changed, and the mutant has to follow."""


@dataclass(frozen=True)
class Mutant:
    """A wrong change. `name` says what the product then does; `caught_by` are pytest's names of tests."""

    name: str
    file: str
    text: str
    replacement: str
    caught_by: tuple[str, ...]

    def applied(self, root: Path) -> str:
        """Return the file with the change."""
        whole = (root / self.file).read_text()
        if (count := whole.count(self.text)) != 1:
            raise DoesNotApply(f"{self.file} has the text {count} times: {self.text!r}")
        return whole.replace(self.text, self.replacement)
