"""What Teapot checks of others: a login to a broker must not be called like a cup."""

from stackwright.api.rabbitmq import TransportURL
from stackwright.kube.admission.checks import FieldError, Findings


def check_login(old: TransportURL | None, new: TransportURL, known: object) -> Findings:
    """Refuse a login that would be taken for a cup."""
    if new.metadata.name.endswith("-cup"):
        return Findings(errors=(FieldError("metadata.name", "ends like a cup of Teapot; choose another name"),))
    return Findings()


CHECKS = {TransportURL: check_login}
