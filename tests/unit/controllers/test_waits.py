"""Of every wait in the operators it is known who ends it: a person is told to act where nobody else can."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.kube.plan import Ends

ROOT = Path(__file__).parents[3] / "stackwright"
ITSELF, AUTHOR, USER, PERHAPS = (
    each.name for each in (Ends.BY_ITSELF, Ends.BY_AUTHOR, Ends.BY_USER, Ends.PERHAPS_BY_USER)
)
# The simulator and the cluster of this machine wait in place of Kubernetes, and tell nobody.
FOLDERS = ("adapters", "blueprint", "controllers", "kube", "services")
# What a function is told by whoever calls it.
GIVEN = "ends"

# A new wait gets a line here, and so a thought.
WHO_ENDS = {
    # Others are at it.
    # The IPSet itself says whether somebody has to act.
    "AddressesNotReady": {ITSELF},
    "Adopting": {ITSELF},
    "AddressesRequested": {ITSELF},
    "AddressReleasing": {ITSELF},
    "ApiNotReady": {ITSELF},
    # What keeps the KeystoneEndpoint from it, that says itself.
    "CatalogFollows": {ITSELF},
    # `deploy: false` is a wish, and no fault.
    "DeployIsOff": {ITSELF},
    "Deploying": {ITSELF},
    "HelmAtWork": {ITSELF},
    "InventoryNotReady": {ITSELF},
    # One that takes long may hang.
    "JobAtWork": {ITSELF, PERHAPS},
    "KeystoneGoing": {ITSELF},
    "KeystoneNotReady": {ITSELF},
    "LoadBalancerPending": {ITSELF},
    "MariaDBDatabaseNotReady": {ITSELF},
    "MariaDBServerGoing": {ITSELF},
    "MariaDBServerNotReady": {ITSELF},
    "MemcachedNotReady": {ITSELF},
    "NodeAddressMissing": {ITSELF},
    "NodeBusy": {ITSELF, PERHAPS},
    "NodeNotReady": {ITSELF},
    "NodePortMissing": {ITSELF},
    # The run is given up, and its role plans another one.
    "NotBegun": {ITSELF},
    "NotAdopted": {ITSELF},
    "NotAsked": {ITSELF},
    "PasswordUnused": {ITSELF},
    "RabbitMqGoing": {ITSELF},
    "RabbitMqNotReady": {ITSELF},
    "Replacing": {ITSELF},
    "Running": {ITSELF},
    "ServiceNotReady": {ITSELF},
    "Stopping": {ITSELF},
    # A trial that fails is told by its Job, as a warning.
    "Trial": {ITSELF},
    "Waiting": {ITSELF},
    # Whoever wrote the resource names what is not there: the user, or a parent that is about to make it.
    "ApiMissing": {AUTHOR},
    "KeystoneMissing": {AUTHOR},
    "MariaDBDatabaseMissing": {AUTHOR},
    "MariaDBServerMissing": {AUTHOR},
    "MemcachedMissing": {AUTHOR},
    "NetConfigMissing": {AUTHOR},
    "NodeMissing": {AUTHOR},
    "NotProvisioned": {AUTHOR},
    "RabbitMqMissing": {AUTHOR},
    "RoleMissing": {AUTHOR},
    # Of a service that is being deleted nobody but the user can bring it back.
    "SshKeyMissing": {AUTHOR, USER},
    "SecretIncomplete": {GIVEN},
    # A Service of ours comes by itself; the author of a KeystoneEndpoint names its KeystoneService. A Secret with a
    # snippet is the user's, whoever handed its name down.
    "ServiceMissing": {ITSELF, AUTHOR},
    "SecretMissing": {GIVEN, AUTHOR, USER},
    # A Job of an earlier run goes with that one; any other is for somebody to delete.
    "NameTaken": {ITSELF, USER},
    # A service that stays down after it was started, or was up.
    "NotUp": {ITSELF, PERHAPS},
    # A node may get room, and a registry may answer again.
    "PodTrouble": {PERHAPS},
    # Only the user can mend it.
    "BindingChanged": {USER},
    "ChartMissing": {USER},
    "DatabaseElsewhere": {USER},
    "DeployedTwice": {USER},
    "HostNameDiffers": {USER},
    "HostNameChanged": {USER},
    "ImageMissing": {USER},
    # A service that another one needs goes after it; servers on it are the user's to move.
    "InUse": {ITSELF, USER},
    "Invalid": {USER},
    "InvalidInput": {USER},
    "InventoryMissing": {USER},
    "KeyInvalid": {USER},
    "MachineChanged": {USER},
    # The other node may be on its way out.
    "MachineTaken": {ITSELF, USER},
    "NameDiffers": {USER},
    "NetConfigInvalid": {USER},
    "NetworksRemoved": {USER},
    "NotAskedFor": {USER},
    "NotTheOnlyOne": {USER},
    "SecretInvalid": {USER},
    "TooManyNames": {USER},
    "TopologyMissing": {USER},
    "VariableInvalid": {USER},
    # A rollout that is stuck says itself who has to act.
    "NeighboursRoll": {ITSELF},
    # The server takes root's new password from its volume, within two minutes.
    "ROOT_PENDING": {ITSELF},
    # Of single services. What a cell, a Neutron or an OVN of ours writes comes by itself, unless it was told not to.
    "AgentConfigMissing": {ITSELF, USER},
    "CellNotReady": {ITSELF},
    "CellsNotMapped": {ITSELF},
    "ComputeConfigMissing": {GIVEN},
    "ComputesNotReady": {ITSELF},
    "ConsoleNotReady": {ITSELF},
    "HostNotMapped": {ITSELF},
    "MetadataConfigMissing": {ITSELF, USER},
    "MigrationKeyMissing": {ITSELF},
    "NodePaused": {ITSELF},
    "PodLost": {PERHAPS},
    "SshKeyUnusable": {USER},
    "NeutronAPIMissing": {AUTHOR},
    "NovaCellMissing": {AUTHOR},
    "NovaCellNotReady": {ITSELF},
    "OvnConfigMissing": {ITSELF, AUTHOR, USER},
    # An empty cell goes by itself, and servers are the user's to delete.
    "CellNotEmpty": {PERHAPS},
    # Those whose reason is worked out: of a phase of an upgrade, of a kind, or of what somebody else found.
    "self.phase": {ITSELF},
    "f'{found.kind}Missing'": {AUTHOR},
    "f'{found.kind}NotReady'": {ITSELF},
    "f'{kind.kind.name}Missing'": {AUTHOR},
    "MADE_BY_USER": {USER},
    "failure.reason": {USER},
    "found.reason": {USER},
    "reason": {ITSELF, USER, GIVEN},
    "said.reason": {GIVEN},
    "stuck.reason": {GIVEN},
}


def waits() -> Iterator[tuple[str, str]]:
    """Yield the reason of every wait that is written down, or the expression that gives it, and who ends it."""
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "Wait":
                continue
            match node.args[:1]:
                case [ast.Constant(value=str(reason))]:
                    yield reason, _ends(node)
                case [reason]:
                    yield ast.unparse(reason), _ends(node)
                case _:
                    raise AssertionError(f"{path}:{node.lineno} gives the reason of a wait by its name")


def _ends(call: ast.Call) -> str:
    said = next((keyword.value for keyword in call.keywords if keyword.arg == "ends"), None)
    match said:
        case None:
            return ITSELF
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    raise AssertionError(ast.dump(call))


def test_of_every_wait_it_is_known_who_ends_it() -> None:
    found: dict[str, set[str]] = {}
    for reason, ends in waits():
        found.setdefault(reason, set()).add(ends)
    assert found == WHO_ENDS


@pytest.mark.parametrize("reason", sorted({reason for reason, _ in waits() if reason.endswith("Missing")}))
def test_what_is_missing_asks_somebody_or_says_why_not(reason: str) -> None:
    comes_by_itself = {"NodeAddressMissing", "NodePortMissing", "MigrationKeyMissing"}
    assert (WHO_ENDS[reason] == {ITSELF}) == (reason in comes_by_itself)
