"""Two services of one type in a catalog: both are let in, and whoever adds the second one is warned. Pure.

Clients, and Nova among them, look for the type alone and take whichever comes first. So a second one is nearly always a
mistake; but somebody may want to move from one to the other.
"""

from collections.abc import Iterable, Iterator

from stackwright.blueprint.claims import Claim
from stackwright.blueprint.needs.catalog_entry import SERVICE_OF_TYPE
from stackwright.controllers.ownership.claims import Around, claiming, claims_of_another
from stackwright.kube.shapes.belonging import maker_of, spoken


def warn(fresh: Iterable[Claim], around: Around) -> Iterator[str]:
    """Yield a sentence for each entry that a resource adds to a catalog beside another one of its type."""
    for claim in fresh:
        if claim.sort.startswith(SERVICE_OF_TYPE) and (owner := _another(claim, around)):
            yield (
                f"{claim.path}: {claim.scope} lists a {claim.sort} already, that of {owner}; clients look for the type "
                "alone and take either, so remove one of the two"
            )


def _another(mine: Claim, around: Around) -> str:
    """Return who has an entry of the same type and of another name; "" if nobody has."""
    for kind in claiming():
        for other in around.all(kind):
            for claim in () if other.deleting else claims_of_another(other, around):
                if (claim.sort, claim.scope) == (mine.sort, mine.scope) and claim.name != mine.name:
                    return spoken(maker_of(other))
    return ""
