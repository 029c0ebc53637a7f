"""Each check by itself: what it says of a cloud and a state."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.adapters.helm import records
from stackwright.blueprint import pod_references
from stackwright.blueprint.workloads import ENFORCED
from stackwright.cli.printing import check_report
from stackwright.controllers.controlplane.resolution import Instance
from stackwright.foresight.checks import capacity, cluster, images, inputs, names, storage, suite
from stackwright.foresight.checks.cluster_state import Definition
from stackwright.foresight.checks.quantities import amount, cpus, memory
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.kube.builtin import Deployment, Lease, Namespace, Pod, Secret, Service, StorageClass
from stackwright.kube.crd import generate
from stackwright.kube.version import ServerVersion
from stackwright.services.ovn.kinds import OVNController
from tests.unit.foresight.checks.samples import cloud, container, converted, deployment, node, state, stateful_set
from tests.unit.foresight.clouds import control_plane, keystone, made

NOW = datetime(2026, 11, 15, 10, 5, tzinfo=UTC)
DEFAULT = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}


def levels(found: Any) -> list[Level]:
    return [one.level for one in found]


@pytest.mark.parametrize(
    ("text", "number"),
    [("100m", 0.1), ("2", 2.0), ("1.5", 1.5), ("256Mi", 256 * 2**20), ("10G", 1e10), ("1e3", 1000.0), ("junk", 0.0)],
)
def test_quantities(text: str, number: float) -> None:
    assert amount(text) == pytest.approx(number)


def test_quantities_as_people_say_them() -> None:
    assert (cpus(0.25), cpus(2.0), memory(3 * 2**29), memory(2**20)) == ("0.25 CPU", "2 CPU", "1.5 GiB", "1 MiB")


@pytest.mark.parametrize(
    ("wanted", "classes", "level", "said"),
    [
        pytest.param("local", [("local", {})], Level.OK, "StorageClass local exists", id="it-is-there"),
        pytest.param("fast", [("local", {})], Level.PROBLEM, "name another (there is local)", id="it-is-not"),
        pytest.param("fast", [], Level.PROBLEM, "there is none at all", id="there-is-none"),
        pytest.param(None, [("local", DEFAULT)], Level.OK, "the default StorageClass local", id="the-default"),
        pytest.param(None, [("local", {})], Level.PROBLEM, "there is no default one", id="no-default"),
        pytest.param("local", None, Level.UNKNOWN, "You have no right to read storage classes", id="nobody-may-look"),
    ],
)
def test_storage(wanted: str | None, classes: Any, level: Level, said: str) -> None:
    there = tuple(made(StorageClass, name, metadata=extra) for name, extra in classes) if classes is not None else None
    (found,) = storage.storage(cloud(stateful_set("db", wanted)), state(classes=there))
    assert found.level is level
    assert said in found.message


@pytest.mark.parametrize(
    ("image", "on_node", "level", "said"),
    [
        pytest.param("registry.example/a:1", [["registry.example/a:1"]], Level.OK, "1 of 1 images", id="there"),
        pytest.param("registry.example/a:1", [], Level.UNKNOWN, "registries are not asked", id="in-a-registry"),
        pytest.param("localhost/a:1", [], Level.PROBLEM, "stackwright image load", id="made-here-and-not-loaded"),
        pytest.param("localhost/a:1", [["x"]] * 50, Level.UNKNOWN, "not asked", id="the-node-does-not-tell-of-all"),
        pytest.param("Not An Image", [], Level.PROBLEM, "is not an image reference", id="nonsense"),
    ],
)
def test_images(image: str, on_node: Any, level: Level, said: str) -> None:
    there = state(nodes=(node(images=on_node),))
    (found,) = images.images(cloud(deployment(container(image))), there)
    assert found.level is level
    assert said in found.message


@pytest.mark.parametrize(
    ("image", "second", "said"),
    [
        pytest.param("localhost/a:1", node("two"), "two lacks localhost/a:1, which no registry has", id="not-on-all"),
        pytest.param("localhost/a:1", node("two", images=[["localhost/a:1"]]), "", id="on-all"),
        pytest.param("localhost/a:1", node("two", unschedulable=True), "", id="no-pods-come-there"),
        pytest.param("localhost/a:1", node("two", taints=[{"key": "a", "effect": "NoSchedule"}]), "", id="tainted"),
        pytest.param("localhost/a:1", node("two", images=[["x"]] * 50), "", id="it-does-not-tell-of-all"),
        pytest.param("registry.example/a:1", node("two"), "", id="a-registry-has-it"),
    ],
)
def test_an_image_without_a_registry_has_to_be_on_all_nodes(image: str, second: Any, said: str) -> None:
    there = state(nodes=(node(images=[[image]]), second))
    *warnings, last = images.images(cloud(deployment(container(image))), there)
    assert (last.level, "1 of 1 images are on a node" in last.message) == (Level.OK, True)
    assert [(one.level, said in one.message) for one in warnings] == ([(Level.WARNING, True)] if said else [])


def running(name: str, namespace: str = "other", **labels: str) -> Pod:
    spec = {"nodeName": "one", "containers": [container(cpu="1", memory="1Gi")]}
    found: Pod = made(
        Pod, name, metadata={"namespace": namespace, "labels": labels}, spec=spec, status={"phase": "Running"}
    )
    return found


OWN = {"app.kubernetes.io/name": "keystone", "app.kubernetes.io/instance": "keystone"}


@pytest.mark.parametrize(
    ("replicas", "nodes", "pods", "level", "said"),
    [
        pytest.param(
            2, [node()], [], Level.OK, "2 pods request 2 CPU, 2.0 GiB; 2 CPU, 4.0 GiB are free on 1 node", id="fits"
        ),
        pytest.param(
            2, [node()], [running("x")], Level.PROBLEM, "No place is left for a pod of Deployment keystone", id="full"
        ),
        pytest.param(
            2,
            [node()],
            [running("x", "openstack", **OWN)],
            Level.OK,
            "2 CPU, 4.0 GiB are free",
            id="what-it-replaces-is-free",
        ),
        pytest.param(3, [node(), node("two")], [], Level.OK, "on 2 nodes", id="on-several-nodes"),
        pytest.param(
            1, [node(cpu="500m"), node("two", cpu="500m")], [], Level.PROBLEM, "No place", id="no-node-is-large-enough"
        ),
        pytest.param(
            1, [node(unschedulable=True)], [], Level.PROBLEM, "No node is ready", id="closed-nodes-do-not-count"
        ),
    ],
)
def test_capacity(replicas: int, nodes: Any, pods: Any, level: Level, said: str) -> None:
    wanted = cloud(deployment(container(cpu="1", memory="1Gi"), replicas=replicas))
    (found,) = capacity.capacity(wanted, state(nodes=tuple(nodes), pods=tuple(pods)))
    assert found.level is level
    assert said in found.message


def test_running_pods_count_once_also_where_a_chart_is_of_several_services() -> None:
    """The pods of such a chart are named after their service, and not after the chart."""
    wanted = cloud(deployment(container(cpu="1", memory="1Gi"), replicas=2, of="keystone-worker"))
    there = running("x", "openstack", **{**OWN, "app.kubernetes.io/name": "keystone-worker"})
    (found,) = capacity.capacity(wanted, state(nodes=(node(),), pods=(there, there)))
    assert found.message == "2 pods request 2 CPU, 2.0 GiB; 2 CPU, 4.0 GiB are free on 1 node."


def test_of_jobs_the_largest_counts_and_a_first_container_counts_alone() -> None:
    def job(name: str, cpu: str) -> Any:
        return {
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"template": {"spec": {"containers": [container(cpu=cpu)]}}},
        }

    first: dict[str, Any] = {"initContainers": [container(cpu="3")]}
    found = capacity.list_wanted(cloud(deployment(container(cpu="1"), **first), job("a", "1"), job("b", "2")), 1)
    assert [(label, room.cpu) for label, room in found] == [("Deployment keystone", 3), ("Job b", 2)]


def test_another_control_plane_in_the_namespace_is_a_problem() -> None:
    mine, other = control_plane(), control_plane(metadata={"name": "another"})
    wanted = cloud(planes=(mine,), given=(mine,))
    (found,) = names.planes(wanted, state(resources=(other,)))
    assert "has OpenStackControlPlane another already" in found.message
    assert list(names.planes(wanted, state(resources=(mine,)))) == []
    # A file of nodes, or of one user of a broker, is for the control plane that is there.
    assert list(names.planes(cloud(given=(keystone(),)), state(resources=(other,)))) == []


def test_names_that_are_too_long() -> None:
    (found,) = names.lengths(cloud(stateful_set("x" * 53, None)))
    assert found.level is Level.PROBLEM
    assert "has 53 characters, and may have 52" in found.message


@pytest.mark.parametrize(
    ("fields", "level", "said"),
    [
        pytest.param(None, Level.OK, "The names of all 1 objects are free", id="free"),
        pytest.param({}, Level.PROBLEM, "exists already and belongs to something else", id="somebody-else's"),
        pytest.param(
            {"metadata": {"labels": OWN}}, Level.OK, "free, or belong to them", id="left-over-by-one-of-its-name"
        ),
        pytest.param({"owner": keystone()}, Level.OK, "free, or belong to them", id="its-own"),
        pytest.param(
            {"metadata": {"annotations": {"meta.helm.sh/release-name": "other"}}},
            Level.PROBLEM,
            "other Helm releases hold what it needs: Service keystone-public of release other",
            id="of-another-release",
        ),
    ],
)
def test_names_that_somebody_else_has(fields: Any, level: Level, said: str) -> None:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "keystone-public"}}
    there = {("Service", "keystone-public"): made(Service, "keystone-public", **fields)} if fields is not None else {}
    (found,) = names.objects(cloud(body), state(objects=there))
    assert found.level is level
    assert said in found.message


def release_record(version: str, status: str = records.DEPLOYED) -> Secret:
    body = {"name": "keystone", "version": 3, "info": {"status": status, "description": "Applied by the operator"}}
    record = records.Record({**body, "chart": {"metadata": {"version": version}}})
    labels = records.labels_of(record, NOW)
    found: Secret = made(
        Secret, "x", metadata={"labels": labels}, data={records.KEY: records.encode(record)}, type=records.TYPE
    )
    return found


@pytest.mark.parametrize(
    ("version", "status", "said"),
    [
        pytest.param("0.2.0", records.DEPLOYED, "", id="of-this-version"),
        pytest.param("0.1.0", records.DEPLOYED, "has version 0.1.0 of its chart; 0.2.0 would upgrade it", id="older"),
        pytest.param("0.2.0", "pending-upgrade", "is pending-upgrade at revision 3", id="left-in-the-middle"),
    ],
)
def test_helm_releases(version: str, status: str, said: str) -> None:
    found = list(names.releases(cloud(), state(secrets=(release_record(version, status),))))
    assert [said in one.message and one.level is Level.WARNING for one in found] == ([True] if said else [])


def umbrella(policy: str = "Provide") -> Any:
    spec = {"secret": "osp-secret", "storageClass": "local", "keystone": {}, "passwordPolicy": policy}
    return control_plane(spec=spec)


SECTION = next(section for section in services.sections() if section.name == "keystone")
INSTANCE = Instance(SECTION, SECTION.parts[0], "keystone", {"secret": "osp-secret", "databaseInstance": "openstack"})


@pytest.mark.parametrize(
    ("policy", "data", "level", "said"),
    [
        pytest.param("Provide", {"AdminPassword": "eA=="}, Level.OK, "has all keys", id="there"),
        pytest.param(
            "Provide", {}, Level.PROBLEM, "lacks the keys AdminPassword (for KeystoneAPI keystone)", id="no-key"
        ),
        pytest.param("Provide", None, Level.PROBLEM, "Secret osp-secret does not exist", id="no-secret"),
        pytest.param("Generate", None, Level.OK, "AdminPassword: will be created in Secret osp-secret", id="made"),
        pytest.param("Generate", {}, Level.PROBLEM, "lacks the keys AdminPassword", id="the-user's-own-is-left-alone"),
    ],
)
def test_the_passwords_of_a_control_plane(policy: str, data: Any, level: Level, said: str) -> None:
    there = (made(Secret, "osp-secret", data=data),) if data is not None else ()
    wanted = cloud(planes=(umbrella(policy),), instances=(INSTANCE,))
    (found,) = inputs.umbrella(wanted, state(secrets=there))
    assert found.level is level
    assert said in found.message


def test_of_a_secret_that_nobody_may_read_nothing_is_said() -> None:
    other = (made(Secret, "other", stringData={"a": "x"}),)
    wanted = cloud(planes=(umbrella("Generate"),), instances=(INSTANCE,), given=other)
    (found,) = inputs.umbrella(wanted, state(secrets=None))
    assert (found.level, found.message) == (Level.UNKNOWN, "You have no right to read Secret osp-secret.")


def test_a_secret_in_the_files_counts_as_there() -> None:
    given = (made(Secret, "osp-secret", stringData={"AdminPassword": "x"}),)
    wanted = cloud(planes=(umbrella(),), instances=(INSTANCE,), given=given)
    assert levels(inputs.umbrella(wanted, state(secrets=()))) == [Level.OK]
    assert list(inputs.own_passwords(cloud(given=given), state(secrets=()))) == []


def test_a_service_of_its_own_needs_its_password() -> None:
    (found,) = inputs.own_passwords(cloud(), state(secrets=()))
    assert found.message.startswith("KeystoneAPI keystone: Secret osp-secret, which spec.secret names, does not exist")


VOLUME = {"name": "x", "secret": {"secretName": "mine"}}
VARIABLE = {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "mine", "key": "password"}}}]}
PROJECTED = {"name": "x", "projected": {"sources": [{"configMap": {"name": "kube-root-ca.crt"}}]}}


@pytest.mark.parametrize(
    ("body", "there", "level", "said"),
    [
        pytest.param(
            deployment(container(), volumes=[VOLUME]),
            (),
            Level.PROBLEM,
            "reads Secret mine, which does not",
            id="missing",
        ),
        pytest.param(
            deployment({**container(), **VARIABLE}),
            (made(Secret, "mine", data={"other": "eA=="}),),
            Level.PROBLEM,
            "reads password of Secret mine, which lacks it",
            id="a-key-is-missing",
        ),
        pytest.param(
            deployment({**container(), **VARIABLE}),
            (made(Secret, "mine", data={"password": "eA=="}),),
            Level.OK,
            "Everything that pods read and you provide exists: Secret mine",
            id="there",
        ),
    ],
)
def test_what_pods_read(body: Any, there: Any, level: Level, said: str) -> None:
    (found,) = inputs.references(cloud(body), state(secrets=there, configs=()))
    assert found.level is level
    assert said in found.message
    assert "eA==" not in found.message


def test_what_we_make_and_what_kubernetes_makes_is_not_asked_for() -> None:
    wanted = cloud(deployment(container(), volumes=[VOLUME, PROJECTED]), made_names=frozenset({"mine"}))
    assert list(inputs.references(wanted, state(secrets=(), configs=()))) == []


def test_what_is_optional_is_not_asked_for() -> None:
    pod = {"volumes": [{"name": "x", "configMap": {"name": "maybe", "optional": True}}], "containers": []}
    assert list(pod_references.list_required(pod)) == []


def test_files_count_for_what_pods_read() -> None:
    wanted = cloud(deployment(container(), volumes=[VOLUME]), given=(made(Secret, "mine", stringData={"x": "y"}),))
    assert levels(inputs.references(wanted, state(secrets=(), configs=()))) == [Level.OK]
    assert levels(inputs.references(cloud(deployment(container(), volumes=[VOLUME])), None)) == [Level.UNKNOWN]


def test_the_version_of_kubernetes() -> None:
    assert cluster.kubernetes(state(), (1, 30)).level is Level.OK
    old = cluster.kubernetes(state(version=ServerVersion(1, 29, "v1.29.0")), (1, 30))
    assert old.level is Level.PROBLEM


def definition(kind: Any, *, label: str = "stackwright", **changes: Any) -> Definition:
    body = generate.manifest(kind)
    metadata = {"name": body["metadata"]["name"], "labels": {"app.kubernetes.io/managed-by": label}}
    found: Definition = converted(Definition, metadata=metadata, spec={**body["spec"], **changes})
    return found


ALL = tuple(definition(kind) for kind in services.kinds())


@pytest.mark.parametrize(
    ("there", "upgraded", "level", "said"),
    [
        pytest.param(ALL, ALL, Level.OK, "kinds are installed, in this version", id="as-they-should-be"),
        pytest.param((), (), Level.PROBLEM, "knows none of our kinds; install them: stackwright crds", id="none"),
        pytest.param(ALL[1:], ALL[1:], Level.PROBLEM, ALL[0].metadata.name, id="one-is-missing"),
        pytest.param(
            (definition(services.kinds()[0], scope="Cluster"), *ALL[1:]),
            ALL,
            Level.WARNING,
            "in another version",
            id="old",
        ),
        pytest.param(
            (definition(services.kinds()[0], label="other"), *ALL[1:]),
            ALL,
            Level.PROBLEM,
            "another operator's",
            id="foreign",
        ),
        pytest.param(None, None, Level.UNKNOWN, "You have no right to read", id="nobody-may-look"),
    ],
)
def test_definitions(there: Any, upgraded: Any, level: Level, said: str) -> None:
    (found,) = cluster.definitions(state(definitions=there, upgraded=upgraded))
    assert found.level is level
    assert said in found.message


def operator(version: str, available: int) -> Deployment:
    labels = {"app.kubernetes.io/version": version}
    status = {"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": available, "replicas": 1}
    found: Deployment = made(
        Deployment, "stackwright-operator", metadata={"labels": labels}, spec={"replicas": 1}, status=status
    )
    return found


def lease(renewed: str) -> Lease:
    spec = {"holderIdentity": "laptop", "renewTime": renewed}
    found: Lease = made(Lease, "stackwright-operator", spec=spec)
    return found


@pytest.mark.parametrize(
    ("fields", "level", "said"),
    [
        pytest.param({"operators": (operator("0.1.0", 1),)}, Level.OK, "runs, in version 0.1.0", id="runs"),
        pytest.param({"operators": (operator("0.0.9", 1),)}, Level.WARNING, "has version 0.0.9", id="another-version"),
        pytest.param({"operators": (operator("0.1.0", 0),)}, Level.PROBLEM, "has 0 of 1 pods ready", id="not-ready"),
        pytest.param({"operators": ()}, Level.PROBLEM, "No operator runs", id="none"),
        pytest.param(
            {"operators": (), "leases": (lease("2026-11-15T10:04:50.000000Z"),)}, Level.OK, "laptop works", id="outside"
        ),
        pytest.param(
            {"operators": (), "leases": (lease("2026-11-15T09:00:00.000000Z"),)}, Level.PROBLEM, "No op", id="long-gone"
        ),
    ],
)
def test_operators(fields: Any, level: Level, said: str) -> None:
    (found,) = cluster.operators(state(**fields), "0.1.0", NOW)
    assert found.level is level
    assert said in found.message


@pytest.mark.parametrize(
    ("places", "seen"),
    [
        pytest.param(((),), True, id="all-namespaces"),
        pytest.param((("openstack",),), True, id="this-one"),
        pytest.param((("other", "openstack"),), True, id="this-one-and-another"),
        pytest.param((("other",), ("openstack",)), True, id="two-installs"),
        pytest.param((("other",),), False, id="another"),
    ],
)
def test_an_operator_of_other_namespaces_sees_nothing_here(places: tuple[tuple[str, ...], ...], *, seen: bool) -> None:
    def told(names: tuple[str, ...]) -> Deployment:
        arguments = ["stackwright", "operator", *(f"--namespace={name}" for name in names)]
        spec = {"replicas": 1, "template": {"spec": {"containers": [{"name": "operator", "args": arguments}]}}}
        return msgspec.structs.replace(operator("0.1.0", 1), spec=spec)

    found = list(cluster.operators(state(operators=tuple(map(told, places))), "0.1.0", NOW))
    blind = [one.message for one in found if one.level is Level.PROBLEM]
    assert bool(blind) != seen
    if not seen:
        assert "work only in namespace other, and would not see a cloud in openstack" in blind[0]
        assert "stackwright up --namespace openstack" in blind[0]


@pytest.mark.parametrize(
    ("here", "level"),
    [
        pytest.param(
            made(Namespace, "openstack", metadata={"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}),
            Level.OK,
            id="there",
        ),
        pytest.param(made(Namespace, "openstack"), Level.WARNING, id="there-without-a-profile"),
        pytest.param(None, Level.WARNING, id="missing"),
        pytest.param(Namespace(), Level.UNKNOWN, id="nobody-may-look"),
        pytest.param(
            made(Namespace, "openstack", metadata={"deletionTimestamp": "2026-11-15T10:00:00Z"}),
            Level.PROBLEM,
            id="going",
        ),
    ],
)
def test_the_namespace(here: Any, level: Level) -> None:
    assert cluster.namespace(state(here=here), "restricted", ()).level is level


@pytest.mark.parametrize(
    ("enforced", "level", "said"),
    [
        (
            "restricted",
            Level.PROBLEM,
            "forbids pods of OVNController ovncontroller; allow them: kubectl label --overwrite",
        ),
        ("privileged", Level.OK, "enforces the privileged profile"),
        ("", Level.OK, "enforces no profile"),
    ],
)
def test_a_namespace_has_to_allow_what_services_declare(enforced: str, level: Level, said: str) -> None:
    labels = {"pod-security.kubernetes.io/enforce": enforced} if enforced else {}
    here = made(Namespace, "openstack", metadata={"labels": labels})
    found = cluster.namespace(state(here=here), "privileged", ("OVNController ovncontroller",))
    assert found.level is level
    assert said in found.message


def test_what_is_in_the_namespace_counts_for_its_profile_too() -> None:
    there = converted(OVNController, metadata={"name": "gateway", "namespace": "openstack"}, spec={})
    here = converted(Namespace, metadata={"name": "openstack", "labels": {ENFORCED: "privileged"}})
    found = suite.check_cluster(cloud(), state(here=here, resources=(there,)), (1, 30))
    assert [each.level for each in found if each.topic == "namespace"] == [Level.OK]


FOUND = (
    CheckResult(Level.OK, "storage", "It is there."),
    CheckResult(Level.PROBLEM, "images", "It is not."),
    CheckResult(Level.UNKNOWN, "capacity", "You have no right to read."),
)


def test_findings_as_a_table_and_as_json() -> None:
    assert check_report.lines(FOUND) == [
        "OK           storage   It is there.",
        "Problem      images    It is not.",
        "Not checked  capacity  You have no right to read.",
        "",
        "1 problem, 1 not checked.",
    ]
    report = json.loads(check_report.report("openstack", FOUND))
    assert (report["namespace"], report["problems"], report["warnings"]) == ("openstack", 1, 0)
    assert report["findings"][1] == {"level": "Problem", "topic": "images", "message": "It is not."}


def test_a_terminal_folds_sentences_below_themselves() -> None:
    long = CheckResult(Level.OK, "names", "one two three " * 10)
    lines = check_report.lines([long], 60)
    assert all(len(line) <= 60 for line in lines)
    assert lines[1].startswith(" " * len("OK  names  ") + "t")


def test_only_problems_end_it_with_an_error() -> None:
    assert check_report.code_of(FOUND) == 1
    assert check_report.code_of([CheckResult(Level.WARNING, "x", "y"), FOUND[2]]) == 0
    assert check_report.lines(FOUND[:1])[-1] == "No problems found."
