"""The keys by which servers move between the machines of a cell: `<cell>-migration-ssh-key`. Pure.

Computes log in to each other as the user nova, with one key for the cell. Each machine keeps its own host key. An
authority of the cell vouches for these: every machine trusts it, so that a new machine is known to all others without a
word to them. The authority's private key is in the pods that run Ansible, and on no machine.

A cell makes them when its first machine joins: most cells of a test, and cell0, have none.
"""

from collections.abc import Callable, Iterator

from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.dataplane import inputs
from stackwright.blueprint.generated import Generated, Reader
from stackwright.blueprint.ssh_keys import make_pair
from stackwright.services.nova.kinds.cell import CELL0, NovaCell
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute

# The keys of the Secret; the first two are upstream's. The role edpm_nova reads them as files.
PRIVATE_KEY, PUBLIC_KEY = "ssh-privatekey", "ssh-publickey"
AUTHORITY, AUTHORITY_PUBLIC = "host-authority", "host-authority.pub"
# How many characters a key is made from: more than it has bits.
_LENGTH = 64


def secret_name(cell: str) -> str:
    """Return the name of the Secret with the keys; `cell` is the name of the NovaCell."""
    return f"{cell}-migration-ssh-key"


def _content(resource: NovaCell, password: Callable[[int], str]) -> dict[str, str]:
    name = resource.metadata.name
    login = make_pair(password(_LENGTH), f"migration in {name}")
    authority = make_pair(password(_LENGTH), f"machines of {name}")
    return {
        PRIVATE_KEY: login.private,
        PUBLIC_KEY: login.public,
        AUTHORITY: authority.private,
        AUTHORITY_PUBLIC: authority.public,
    }


def _of_compute(compute: NovaExternalCompute) -> Iterator[str]:
    # A compute that a user wrote has no cell until its node says one.
    if compute.spec.cellName:
        yield secret_name(compute.spec.cellName)


KEYS = Generated[NovaCell](
    name=lambda resource: secret_name(resource.metadata.name),
    content=_content,
    # cell0 has no machines.
    wanted=lambda resource: resource.spec.cellName != CELL0,
    # Another one is handed out to all machines, as any other change.
    renewable=True,
    # A machine joins by an annotation of its node, or as one of a role whose services name the Secret.
    readers=(Reader(NovaExternalCompute, _of_compute), Reader(OpenStackDataPlaneService, inputs.secrets_of)),
    # Only machines of the cell trust them.
    owned=True,
)
