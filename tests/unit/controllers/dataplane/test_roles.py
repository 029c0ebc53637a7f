"""Which runs a role keeps and begins, and whose a machine is."""

from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, TypeVar

import msgspec
import pytest

from stackwright.api.annotations import DEPLOYED_BY, PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE, OpenStackAnsibleEEStatus
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.api.network import DNSData
from stackwright.blueprint.dataplane.inheritance import inherit
from stackwright.blueprint.dataplane.inputs import Work
from stackwright.blueprint.dataplane.records import names_of
from stackwright.blueprint.dataplane.schedule import Backoff, Due
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.blueprint.secret_values import encode, texts_of
from stackwright.blueprint.ssh_keys import make_pair
from stackwright.controllers.dataplane import nodes, roles, runs
from stackwright.controllers.dataplane.gathering import Gathering
from stackwright.controllers.dataplane.memory import Memory
from stackwright.controllers.dataplane.preparation import Prepared, prepare
from stackwright.controllers.looks import Interests
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import R, Resource
from stackwright.kube.shapes.composite import Child
from stackwright.kube.store import Store
from tests.unit.blueprint.addresses.networks import given, net_config

T = TypeVar("T")

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
EARLY, LATE = "2026-11-16T08:00:00Z", "2026-11-16T09:00:00Z"
WORK = Work("prepare", "image:1", playbook="p")
KEY = f"one.example ssh-ed25519 {'A' * 40}"


def made(kind: type[Any], name: str, created: str = EARLY, **body: Any) -> Any:
    metadata = {"name": name, "namespace": "openstack", "uid": f"{kind.kind.name}-{name}", "creationTimestamp": created}
    return msgspec.convert({**body, "metadata": {**metadata, **body.pop("metadata", {})}}, kind)


ROLE = made(
    OpenStackDataPlaneRole,
    "compute",
    spec={"services": ["prepare"], "nodeTemplate": {"ansibleSSHPrivateKeySecret": "key"}, "preProvisioned": True},
)
OWNER = {
    "apiVersion": "v1",
    "kind": "OpenStackDataPlaneRole",
    "name": "compute",
    "uid": ROLE.metadata.uid,
    "controller": True,
}


def node(name: str = "one", created: str = EARLY, **body: Any) -> OpenStackDataPlaneNode:
    spec = {"role": "compute", "ansibleHost": f"{name}.example", **body.pop("spec", {})}
    found: OpenStackDataPlaneNode = made(OpenStackDataPlaneNode, name, created, spec=spec, **body)
    return found


def run(service: str, inputs: str, created: str = EARLY) -> OpenStackAnsibleEE:
    """Return a run of the role on the node `one` that went well."""
    entry = {"name": "one", "host": "one", "inputHash": inputs}
    found: OpenStackAnsibleEE = made(
        OpenStackAnsibleEE,
        f"{service}-1",
        created,
        metadata={"ownerReferences": [OWNER]},
        spec={"playbook": "p", "service": service, "sequence": 1, "nodes": [entry], "inventorySecretName": "x"},
        status={"finishedAt": "2026-11-16T08:30:00Z", "hosts": [{"host": "one", "state": "Ok"}], "hostKeys": [KEY]},
    )
    return found


def prepared(of: OpenStackDataPlaneNode) -> Prepared:
    return Prepared(inherit(of, ROLE), Variables(), (Due("prepare", "h", "c"),))


def planned(of: OpenStackDataPlaneNode, *runs: OpenStackAnsibleEE) -> dict[str, list[str]]:
    """Return the runs that are kept, and those that begin."""
    candidate = roles._candidate(of, prepared(of), names_of(runs))
    seen = roles.Seen((WORK,), {"one": of}, {"one": prepared(of)}, runs, candidates=(candidate,), now=NOW)
    found = [item for item in roles.children(ROLE, seen, Backoff()) if isinstance(item, Child)]
    names: dict[bool, list[str]] = {True: [], False: []}
    for item in found:
        if item.of is OpenStackAnsibleEE:
            names[bool(item.body.get("spec"))].append(item.body["metadata"]["name"])
    return {"kept": names[False], "begun": names[True]}


def told(of: OpenStackDataPlaneNode, *runs: OpenStackAnsibleEE) -> OpenStackDataPlaneNode:
    return msgspec.structs.replace(of, status=nodes.tell(of, nodes.Seen(prepared(of), runs)))


def test_a_node_records_its_run_and_the_role_keeps_it() -> None:
    before = run("prepare", "h", LATE)
    # Until it is recorded, nothing else begins on the node.
    assert planned(node(), before) == {"kept": ["prepare-1"], "begun": []}
    one = told(node(), before)
    assert (one.status.deployed, one.status.hostKeys) == (True, (KEY,))
    assert planned(one, before) == {"kept": ["prepare-1"], "begun": []}
    # From then on it counts as one that serves, even if it gets another service.
    assert one.status.firstDeployedAt == before.status.finishedAt
    more = Prepared(inherit(one, ROLE), Variables(), (Due("prepare", "h", "c"), Due("harden", "h", "c")))
    later = msgspec.structs.replace(one, status=nodes.tell(one, nodes.Seen(more)))
    assert (later.status.deployed, later.status.firstDeployedAt) == (False, before.status.finishedAt)
    assert roles._candidate(later, more, ()).serves


def test_a_run_that_was_deleted_in_its_middle_is_recorded_before_another_begins() -> None:
    done = told(node(), run("prepare", "h", LATE))
    going = msgspec.structs.replace(
        run("prepare", "other", LATE), status=type(run("x", "h", LATE).status)(jobStatus="Pending")
    )
    spec = msgspec.structs.replace(going.spec, sequence=2)
    metadata = msgspec.structs.replace(going.metadata, name="prepare-2")
    going = msgspec.structs.replace(going, spec=spec, metadata=metadata)
    at_work = told(done, going)
    assert at_work.status.running is not None
    assert planned(at_work)["begun"] == []
    stopped = told(at_work)
    (record,) = stopped.status.services
    assert (record.appliedHash, record.state, stopped.status.deployed) == ("", "Interrupted", False)
    (begun,) = planned(stopped)["begun"]
    assert begun != "prepare-2"


@pytest.mark.parametrize(("said", "begun"), [("true", 0), ("false", 1)])
def test_nothing_begins_on_a_node_that_is_paused(said: str, begun: int) -> None:
    of = node()
    of = msgspec.structs.replace(of, metadata=msgspec.structs.replace(of.metadata, annotations={PAUSED: said}))
    assert len(planned(of)["begun"]) == begun


def test_a_node_says_which_run_of_somebody_else_has_it() -> None:
    entry = {"name": "one", "host": "one"}
    theirs = made(OpenStackAnsibleEE, "of-a-user", LATE, spec={"playbook": "p", "nodes": [entry]})
    (finding,) = findings(node(), theirs)
    assert (finding.reason, "OpenStackAnsibleEE of-a-user, which has the node" in finding.message) == ("NodeBusy", True)
    assert planned(node(), theirs)["begun"] == []
    over = msgspec.structs.replace(theirs, status=msgspec.structs.replace(theirs.status, finishedAt=LATE))
    own = msgspec.structs.replace(run("prepare", "h", LATE), status=theirs.status)
    for runs_of in ((), (over,), (own,)):
        assert [each.reason for each in findings(node(), *runs_of)] == ["Deploying"]


def findings(of: OpenStackDataPlaneNode, *runs: OpenStackAnsibleEE) -> list[Finding]:
    """Return what a node says of its services."""
    found = nodes.children(of, nodes.Seen(prepared(of), runs))
    return [each for each in found if isinstance(each, Finding) and each.status != "True"]


def test_a_role_says_which_service_goes_to_no_further_node() -> None:
    every = {name: node(name) for name in "abcde"}
    (finding,) = roles.find_state(every, {"prepare": ("a", "b", "c", "d")})
    assert finding.message.endswith(
        "; prepare goes to no other deployed node, because it failed on a, b, c and 1 more and succeeded on none"
    )


def test_nodes_share_a_run_only_as_long_as_its_inventory_fits_into_a_secret() -> None:
    names = [f"n{number:03}" for number in range(200)]
    every = {name: node(name) for name in names}
    # A network's template, say, and certificates that are secret.
    variables = Variables({"template": "x" * 4000}, {"certificate": "y" * 1000})
    whole = {
        name: Prepared(inherit(each, ROLE), variables, (Due("prepare", "h", "c"),)) for name, each in every.items()
    }
    candidates = tuple(roles._candidate(each, whole[name], ()) for name, each in every.items())
    seen = roles.Seen((WORK,), every, whole, candidates=candidates, now=NOW)
    found = [item for item in roles.children(ROLE, seen, Backoff()) if isinstance(item, Child)]
    secrets = [msgspec.convert(item.body, Secret) for item in found if item.of is Secret]
    sizes = [sum(len(text) for text in texts_of(each).values()) for each in secrets]
    assert len(sizes) == 2
    assert max(sizes) < 1024 * 1024
    runs = [item.body["spec"]["nodes"] for item in found if item.of is OpenStackAnsibleEE]
    assert [entry["name"] for entries in runs for entry in entries] == names


def test_a_node_that_was_deleted_and_created_again_is_another_machine() -> None:
    before, one = run("prepare", "h", EARLY), node(created=LATE)
    one = told(one, before)
    assert (one.status.deployed, one.status.hostKeys) == (False, ())
    found = planned(one, before)
    assert found["kept"] == []
    # Another name: what there is of that name has ended.
    (again,) = found["begun"]
    assert again != before.metadata.name
    body = msgspec.to_builtins(run("prepare", "h", LATE).spec) | {"sequence": 2}
    second = made(OpenStackAnsibleEE, again, LATE, spec=body, status=msgspec.to_builtins(before.status))
    one = told(one, before, second)
    assert (one.status.deployed, one.status.hostKeys) == (True, (KEY,))


def test_a_run_of_a_service_that_the_role_no_longer_has_goes() -> None:
    assert planned(told(node()), run("former", "x", LATE))["kept"] == []


PRIVATE_KEY = make_pair("word", "us").private
KEY_SECRET = made(Secret, "key", data=encode({"ssh-privatekey": PRIVATE_KEY}))
SERVICE = made(OpenStackDataPlaneService, "prepare", spec={"playbook": "p"})


@dataclass(frozen=True)
class Caches:
    """The context of a pass, as far as it looks."""

    objects: tuple[Resource, ...]
    client: Any = None

    def store(self, kind: type[R]) -> Store[R]:
        found: Store[R] = Store()
        for each in self.objects:
            if isinstance(each, kind):
                found.put(each)
        return found


DELETED = {"deletionTimestamp": LATE, "finalizers": ["x"]}


@pytest.mark.parametrize(
    ("other", "ends"),
    [
        pytest.param(node("a", spec={"ansibleHost": "shared.example"}), Ends.BY_USER, id="one-address"),
        pytest.param(node("shared.example", spec={"ansibleHost": ""}), Ends.BY_USER, id="a-name-that-is-an-address"),
        pytest.param(
            node("a", spec={"ansibleHost": "shared.example"}, metadata=DELETED),
            Ends.BY_ITSELF,
            id="one-whose-services-are-being-removed",
        ),
        pytest.param(node("a", spec={"ansibleHost": "other.example"}), None, id="another-machine"),
        pytest.param(node("a", LATE, spec={"ansibleHost": "shared.example"}), None, id="a-younger-one"),
    ],
)
def test_a_machine_is_its_elder_nodes_until_that_is_gone(other: OpenStackDataPlaneNode, ends: Ends | None) -> None:
    mine = node("mine", "2026-11-16T08:30:00Z", spec={"ansibleHost": "shared.example"})
    assert is_refused(mine, other) == ends


@pytest.mark.parametrize("elder", ["given", "said"])
def test_an_address_that_a_network_gave_is_a_machine_s_too(elder: str) -> None:
    times = {"given": LATE, "said": LATE, elder: "2026-11-16T08:30:00Z"}
    said = node("said", times["said"], spec={"ansibleHost": "192.0.2.1"})
    other = node("given", times["given"], spec={"ansibleHost": ""})
    ip_set = given("given", "192.0.2.1")
    both = {"given": other, "said": said}
    younger = both["said" if elder == "given" else "given"]
    assert is_refused(younger, both[elder], ip_set) is Ends.BY_USER
    assert is_refused(both[elder], younger, ip_set) is None


@pytest.mark.parametrize(("host", "elder"), [("one.example.org", "first"), ("two.example.org", "")])
def test_a_node_says_which_names_an_older_one_has(host: str, elder: str) -> None:
    network = {"name": "ctlplane", "subnetName": "subnet1"}
    first, mine = (
        node(name, time, spec={"hostName": name_of_host, "node": {"networks": [network]}})
        for name, time, name_of_host in (("first", EARLY, "one.example.com"), ("mine", LATE, host))
    )
    caches: Any = Caches((first, mine, ROLE, KEY_SECRET, SERVICE, net_config(), given("mine", "192.168.122.102")))
    seen = nodes.observe(mine, caches, Interests(), "image:1")
    (names,) = (each.body["spec"]["hosts"][0]["hostnames"] for each in of_kind(mine, seen, Child) if each.of is DNSData)
    (found,) = (each for each in of_kind(mine, seen, Finding) if each.condition == "InputReady")
    assert found.status == "True"
    if elder:
        assert names == [host]
        assert found.message.startswith("one.ctlplane.example.com is a name of node first")
        # So that an event says it, too.
        assert (found.reason, found.severity) == ("NameTaken", "Warning")
    else:
        assert names == [host, "two.ctlplane.example.com"]
        # What was said before is not said any longer.
        assert (found.reason, found.message) == ("Ready", "")


def test_a_node_does_not_use_the_addresses_of_an_ip_set_that_a_user_made() -> None:
    network = {"name": "ctlplane", "subnetName": "subnet1"}
    mine, ours = node("mine", spec={"node": {"networks": [network]}}), given("mine", "192.168.122.102")
    users = msgspec.structs.replace(ours, metadata=msgspec.structs.replace(ours.metadata, annotations={}))
    prepared = [
        nodes.observe(
            mine,
            Caches((mine, ROLE, KEY_SECRET, SERVICE, net_config(), ip_set)),  # type: ignore[arg-type]  # as far as it looks
            Interests(),
            "image:1",
        ).prepared
        for ip_set in (ours, users)
    ]
    assert isinstance(prepared[0], Prepared)
    assert isinstance(prepared[1], Wait)
    assert (prepared[1].reason, prepared[1].ends) == ("MadeByUser", Ends.BY_USER)
    assert prepared[1].message.startswith("IPSet mine exists, was not created for OpenStackDataPlaneNode mine")


def of_kind(mine: OpenStackDataPlaneNode, seen: nodes.Seen, kind: type[T]) -> list[T]:
    return [each for each in nodes.children(mine, seen) if isinstance(each, kind)]


def is_refused(mine: OpenStackDataPlaneNode, *others: Resource) -> Ends | None:
    """Return who ends the wait of a node whose machine is another one's; None if it has its machine."""
    caches: Any = Caches((mine, *others, ROLE, KEY_SECRET, SERVICE))
    found = nodes.observe(mine, caches, Interests(), "image:1").prepared
    assert not isinstance(found, Wait) or found.reason == "MachineTaken"
    # What the node says, the role does.
    seen = roles.observe(
        ROLE, caches, interests=Interests(), memory=Memory(), image="image:1", gathering=Gathering(0.0)
    )
    assert (mine.metadata.name in seen.prepared) is not isinstance(found, Wait)
    return found.ends if isinstance(found, Wait) else None


def test_a_node_with_services_of_operators_keeps_its_machine_whatever_its_address_is() -> None:
    key, other = (f"ssh-ed25519 {letter * 40}" for letter in "AB")
    noted = {"annotations": {f"{DEPLOYED_BY}NovaExternalCompute": "nova"}}
    moved = node(metadata=noted, status={"hostKeys": [f"former.example {key}"]})
    # Whoever answers at the new address has to have the former key, from the first run on.
    assert runs.find_keys(moved, "one.example:22") == (f"one.example {key}",)
    assert runs.find_keys(moved, "one.example:2222") == (f"[one.example]:2222 {key}",)
    # A user's own run may say anything.
    for place in ("one.example", "one.example:ssh", ":", ""):
        assert runs.find_keys(moved, place) == moved.status.hostKeys
    assert told(moved).status.hostKeys == (f"one.example {key}",)
    free = node(status={"hostKeys": [f"former.example {key}"]})
    assert runs.find_keys(free, "one.example:22") == (f"former.example {key}",)
    assert told(free).status.hostKeys == ()
    for known, of, reason in ((other, moved, "MachineChanged"), (key, moved, ""), (other, free, "")):
        secret = made(
            Secret, "key", data=encode({"ssh-privatekey": PRIVATE_KEY, "known_hosts": f"one.example {known}\n"})
        )
        found = prepare(of, ROLE, (WORK,), lambda kind, *_, it=secret, **__: it if kind is Secret else None)
        assert (found.reason if isinstance(found, Wait) else "") == reason


def test_a_node_with_services_of_operators_keeps_its_host_name() -> None:
    key = made(Secret, "key", data=encode({"ssh-privatekey": PRIVATE_KEY}))

    def look(kind: type[Any], name: str, **_: Any) -> Any:
        return key if kind is Secret and name == "key" else None

    noted = {"annotations": {f"{DEPLOYED_BY}NovaExternalCompute": "nova"}}
    status = {"hostName": "one"}
    for body, reason in (
        ({"spec": {"hostName": "other"}, "metadata": noted, "status": status}, "HostNameChanged"),
        ({"spec": {"hostName": "one"}, "metadata": noted, "status": status}, ""),
        ({"spec": {"hostName": "other"}, "status": status}, ""),
        ({"spec": {"hostName": "other"}, "metadata": noted}, ""),
    ):
        found = prepare(node(**body), ROLE, (WORK,), look)
        assert (found.reason if isinstance(found, Wait) else "") == reason


def test_a_node_that_is_renamed_while_an_operator_begins_tells_the_name_of_the_run() -> None:
    entry, renamed = {"name": "one", "host": "one"}, node(spec={"hostName": "other"}, status={"hostName": "one"})
    owner = {**OWNER, "kind": "NovaExternalCompute", "uid": "compute"}

    def name_with(owners: list[Any], finished: str = "") -> str:
        spec, status = {"playbook": "p", "nodes": [entry]}, {"finishedAt": finished}
        metadata = {"ownerReferences": owners}
        theirs = made(OpenStackAnsibleEE, "run", LATE, metadata=metadata, spec=spec, status=status)
        return told(renamed, theirs).status.hostName

    assert name_with([owner]) == "one"
    # The service tells its own name once it ran; runs of users and of the role bind no name.
    assert [name_with([owner], LATE), name_with([]), name_with([OWNER])] == ["other"] * 3


@pytest.mark.parametrize("is_there", [True, False])
async def test_a_run_that_only_the_cache_does_not_have_was_not_deleted(*, is_there: bool) -> None:
    """Else each node of a run that has just begun would count as changed by half when another replica takes over."""
    done = told(node(), run("prepare", "h", LATE))
    going = msgspec.structs.replace(run("prepare", "h", LATE), status=OpenStackAnsibleEEStatus(jobStatus="Running"))
    metadata = msgspec.structs.replace(going.metadata, name="prepare-2")
    spec = msgspec.structs.replace(going.spec, sequence=2)
    going = msgspec.structs.replace(going, metadata=metadata, spec=spec)
    at_work = told(done, going)
    assert at_work.status.running is not None
    asked: list[str] = []

    async def find(_: Any, name: str, __: str) -> OpenStackAnsibleEE | None:
        asked.append(name)
        return going if is_there else None

    caches: Any = Caches((at_work, ROLE, KEY_SECRET, SERVICE), SimpleNamespace(find=find))
    seen = await nodes._observe(at_work, caches, interests=Interests(), image="image:1")
    status = nodes.tell(at_work, seen)
    assert asked == ["prepare-2"]
    assert (status.running is not None) is is_there
    applied = {record.name: record.appliedHash for record in status.services}
    assert applied["prepare"] == ("h" if is_there else "")
    # Nobody asks where nothing runs.
    await nodes._observe(done, caches, interests=Interests(), image="image:1")
    assert asked == ["prepare-2"]
