"""What Teapot checks of others: a login to a broker must not be called like a cup."""

from stackwright.api.rabbitmq import TransportURL
from stackwright.kube.admission.checks import FieldError, Objections


def check_login(old: TransportURL | None, new: TransportURL, known: object) -> Objections:
    """Refuse a login that would be taken for a cup."""
    if new.metadata.name.endswith("-cup"):
        return Objections(errors=(FieldError("metadata.name", "ends like a cup of Teapot; choose another name"),))
    return Objections()


CHECKS = {TransportURL: check_login}
