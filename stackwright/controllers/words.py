"""By which word an operator is asked to keep a kind: `--services`, a lease and an account are called by it. Pure."""

from stackwright.kube.resource import Resource

# The word of what belongs to no service: the control plane.
CORE = "core"


def word_of(kind: type[Resource]) -> str:
    """Return the word by which a kind's controller is chosen: the service whose group it is in, `core` for no service.

    So who asks for a database server also gets its schemas and accounts.
    """
    return kind.kind.group.partition(".")[0]
