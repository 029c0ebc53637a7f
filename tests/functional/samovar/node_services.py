"""What a samovar is: who asks for it, what runs with which files, and who says that its water is hot. Pure."""

from collections.abc import Iterator

from stackwright.api.base import JsonObject
from stackwright.blueprint.dataplane.node_service import Call, Files, Image, NodeService, Removal, Sign, of_secret
from stackwright.blueprint.providers import Sight
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

from .kinds import Samovar

PATH, KEY, AGENT = "/v2.0/agents", "agents", "Samovar"
SECRET = "samovar-config"


def files(_: Samovar, sight: Sight) -> Iterator[Files | Wait]:
    """Yield the Secret with its configuration."""
    if sight(Secret, SECRET) is None:
        yield Wait("LeavesMissing", f"Secret {SECRET} does not exist; create it", "InputReady", ends=Ends.BY_USER)
        return
    yield Files(of_secret(SECRET))


def _rows(answer: JsonObject, host: str) -> list[JsonObject]:
    return [row for row in answer.get(KEY) or () if (row.get("agent_type"), row.get("host")) == (AGENT, host)]


def judge(answer: JsonObject, host: str) -> str:
    """Return why the water of a host is not hot; "" if it is."""
    return "" if any(row.get("alive") for row in _rows(answer, host)) else f"There is no hot water on {host} yet"


def forget(answer: JsonObject, host: str) -> Iterator[Call]:
    """Yield what deletes the samovar of a host."""
    yield from (Call("DELETE", f"{PATH}/{row['id']}") for row in _rows(answer, host))


NODE_SERVICES = (
    NodeService(
        name="samovar",
        kind=Samovar,
        annotation="samovar.example.org/boils",
        playbook="partner.tea.samovar",
        folder="samovar",
        override="02-samovar-override.conf",
        images={"samovarContainerImage": Image("samovar_image", "compute")},
        files=files,
        sign=Sign("network", PATH, KEY, judge),
        removal=Removal(variables={"samovar_state": "absent"}, forget=forget),
    ),
)
