"""What Teapot checks of others: no entry of the catalog may be named after a cup."""

from stackwright.api.keystone import KeystoneService
from stackwright.kube.admission.checks import FieldError, Objections


def check_entry(old: KeystoneService | None, new: KeystoneService, known: object) -> Objections:
    """Refuse an entry that would be taken for a cup."""
    if new.metadata.name.endswith("-cup"):
        return Objections(errors=(FieldError("metadata.name", "ends like a cup of Teapot; choose another name"),))
    return Objections()


CHECKS = {KeystoneService: check_entry}
