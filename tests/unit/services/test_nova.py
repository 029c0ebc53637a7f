"""Nova's folder as plain functions: its configuration, its cells, what it hands down, and what is refused."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.api.base import CustomResource, ObjectMeta
from stackwright.blueprint import configuration, ini, options, refusals, use, values
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.service import Export, Service
from stackwright.controllers.needs import sight
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Wait
from stackwright.kube.resource import OwnerReference
from stackwright.kube.shapes.child import Child
from stackwright.services.nova import facts as needs
from stackwright.services.nova import mapping, programs
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.parent import CELL_METADATA, METADATA, ParentFacts
from stackwright.services.nova.service import SERVICES
from tests.functional.crds.samples import LEAST
from tests.unit.blueprint.resolving import look_at, secret
from tests.unit.services.novas import BY_KIND, CELL0, CELL1, CELL_FACTS, FACTS, PARENT, children_of, made, nobody, nova

LEAVES: list[Service[Any, Any]] = [service for service in SERVICES if service.facts is NovaFacts]


def problems(resource: CustomResource) -> dict[str, str]:
    service = BY_KIND[resource.kind.name]
    assert service.problems is not None
    return dict(service.problems(resource, nobody))


def settings(kind: str, facts: NovaFacts = FACTS, **spec: Any) -> Any:
    data = configuration.secret_data(BY_KIND[kind], made(kind, **spec), facts)
    parsed = ini.parse(data["01-nova.conf"])
    assert not isinstance(parsed, ini.Problem)
    return parsed


# The configuration of each service.


@pytest.mark.parametrize("service", LEAVES, ids=lambda service: service.name)
def test_all_that_a_service_is_told_is_an_option_with_a_value_that_it_can_have(service: Service[Any, Any]) -> None:
    kind = service.kind.kind.name
    known = options.of(service)
    assert known is not None
    data = configuration.secret_data(service, made(kind), FACTS)
    assert not options.check(known, data["01-nova.conf"])
    assert "02-nova-override.conf" not in data
    assert "02-nova-override.conf" in configuration.secret_data(
        service, made(kind, customServiceConfig="[DEFAULT]\ndebug = true\n"), FACTS
    )


@pytest.mark.parametrize(
    ("kind", "sections"),
    [
        ("NovaAPI", {"api_database", "database"}),
        ("NovaScheduler", {"api_database", "database"}),
        ("NovaConductor", {"api_database", "database"}),
        ("NovaMetadata", {"api_database", "database"}),
        ("NovaNoVNCProxy", {"database"}),
        ("NovaCompute", set()),
    ],
)
def test_a_service_has_the_databases_that_it_may_use_and_no_others(kind: str, sections: set[str]) -> None:
    only = FACTS if "api_database" in sections else replace(FACTS, api_database=None)
    assert {"api_database", "database"} & set(settings(kind, only)) == sections


def test_a_cell_without_access_has_conductors_without_the_database_of_the_api() -> None:
    assert "api_database" not in settings("NovaConductor", replace(FACTS, api_database=None))


def test_a_service_without_a_cache_works() -> None:
    said = settings("NovaAPI", replace(FACTS, cache=None))
    assert "cache" not in said
    assert "memcached_servers" not in said["keystone_authtoken"]


def test_a_fake_compute_is_the_one_that_survives_a_restart() -> None:
    assert settings("NovaCompute")["DEFAULT"]["compute_driver"] == ("fake.FakeDriverWithoutFakeNodes",)


def test_a_compute_for_machines_logs_in_to_ironic_and_a_fake_one_does_not() -> None:
    said = settings("NovaCompute", computeDriver="ironic.IronicDriver")
    assert said["DEFAULT"]["compute_driver"] == ("ironic.IronicDriver",)
    # The memory of a machine is its server's alone.
    assert said["DEFAULT"]["reserved_host_memory_mb"] == ("0",)
    assert {name: said["ironic"][name] for name in ("auth_url", "username", "region_name", "valid_interfaces")} == {
        "auth_url": ("http://keystone:5000",),
        "username": ("nova",),
        "region_name": ("regionOne",),
        "valid_interfaces": ("internal",),
    }
    assert "ironic" not in settings("NovaCompute")


def test_machines_outside_are_told_where_the_metadata_service_is_under_both_names() -> None:
    metadata = BY_KIND["NovaMetadata"]
    assert metadata.exports is not None
    exported = {entry.name: entry.content for entry in metadata.exports(made("NovaMetadata"), FACTS)}
    assert set(exported) == {"nova-x-neutron-config", "nova-x-compute-config"}
    for content in exported.values():
        assert set(content) == {"05-nova-metadata.conf"}
        parsed = ini.parse(content["05-nova-metadata.conf"])
        assert not isinstance(parsed, ini.Problem)
        said = parsed["DEFAULT"]
        assert (said["nova_metadata_host"], said["nova_metadata_port"]) == (("10.0.0.1",), ("30775",))
        assert said["metadata_proxy_shared_secret"] == ("between-us",)


def test_only_the_conductors_of_cell0_make_the_tables_of_the_api() -> None:
    conductor = BY_KIND["NovaConductor"]
    first, second = (
        configuration.secret_data(conductor, made("NovaConductor", cellName=cell), FACTS)["dbsync.sh"]
        for cell in ("cell0", "cell1")
    )
    assert "api_db sync" in first
    assert "api_db sync" not in second
    assert "db sync --local_cell" in second


@pytest.mark.parametrize("service", LEAVES, ids=lambda service: service.kind.kind.name)
def test_a_password_is_asked_about_if_a_user_has_given_it_and_no_nova(service: Service[Any, Any]) -> None:
    resource = made(service.kind.kind.name)
    given = {
        by_user: configuration.secret_data(
            service, resource, replace(FACTS, identity=replace(FACTS.identity, by_user=by_user))
        )["given"].split()
        for by_user in (True, False)
    }
    assert given == {
        True: ["auth_type", "connection", "transport_url"],
        False: ["connection", "transport_url"],
    }


@pytest.mark.parametrize("of", ["Nova", "NovaCell", ""])
def test_it_is_a_user_who_gives_the_password_of_a_cell_without_a_nova(of: str) -> None:
    """Its services have an owner all the same: what counts is who wrote the Secret."""
    owner = OwnerReference(apiVersion="nova.openstack.org/v1beta1", kind=of, name="x", uid="1", controller=True)
    metadata = ObjectMeta(name="x", namespace="openstack", ownerReferences=(owner,) if of else ())
    resource = msgspec.structs.replace(made("NovaConductor"), metadata=metadata)
    written = Export(resource.spec.secret, {"ServicePassword": "hush"})
    by_hand = secret(written.name, dict(written.content))
    handed_down = msgspec.structs.replace(
        by_hand, metadata=msgspec.structs.replace(by_hand.metadata, annotations=use.annotations_of(written))
    )
    for there, expected in ((by_hand, True), (handed_down, False)):
        assert needs.LOGIN.resolve(resource, sight(look_at(there))).fact.by_user == expected


@pytest.mark.parametrize("program", [programs.SCHEDULER, programs.CONDUCTOR, programs.COMPUTE])
def test_a_program_is_python_that_checks_before_it_works(program: Any) -> None:
    compile(program.content, program.key, "exec")
    text = program.content
    assert text.index("\ncheck()") < text.index("STARTED.touch()") < text.rindex("\nattempt(")


def test_a_trial_ends_where_the_configuration_was_read_and_is_none_of_a_users_command() -> None:
    for kind in ("NovaScheduler", "NovaConductor", "NovaCompute"):
        (component,) = BY_KIND[kind].known_components
        ours = configuration.secret_data(BY_KIND[kind], made(kind), FACTS)
        text = ours["daemon.py"]
        assert text.index("\ncheck()") < text.rindex("STACKWRIGHT_TRIAL") < text.index("STARTED.touch()")
        looked_for = component.trial.split("'")[1]
        assert looked_for in ours[f"{component.name}.json"]
        theirs = made(kind, kollaConfig={"command": "nova-conductor --debug"})
        assert looked_for not in configuration.secret_data(BY_KIND[kind], theirs, FACTS)[f"{component.name}.json"]


# What Nova hands down.


def handed(resource: Nova, facts: ParentFacts) -> tuple[dict[str, dict[str, Any]], list[Wait]]:
    found = children_of(resource, facts)
    bodies = {item.key.name: item.body["spec"] for item in found if isinstance(item, Child)}
    return bodies, [item for item in found if isinstance(item, Wait)]


def done(*jobs: str, seconds: float = 1.0) -> ParentFacts:
    return replace(PARENT, synced=True, done=frozenset(jobs), done_for=dict.fromkeys(jobs, seconds))


def test_all_cells_start_at_once_and_the_api_when_they_are_mapped() -> None:
    children, waits = handed(nova(), PARENT)
    assert set(children) == {"nova-cell0", "nova-cell1"}
    services = {"NovaAPIReady", "NovaSchedulerReady", "NovaMetadataReady"}
    assert {wait.condition for wait in waits} == {*services, "NovaCellsMapped"}
    children, waits = handed(nova(), done("map-cell0", "map-cell1"))
    assert {"nova-api", "nova-scheduler", "nova-metadata"} <= set(children)
    assert waits == []
    assert set(children["nova-api"]["registeredCells"]) == {"nova-cell0", "nova-cell1"}


def test_a_cell_that_is_not_mapped_within_two_minutes_is_left_out() -> None:
    _, waits = handed(nova(), done("map-cell0", seconds=60))
    assert {wait.after for wait in waits} == {60.0}
    children, waits = handed(nova(), done("map-cell0", seconds=121))
    assert set(children["nova-api"]["registeredCells"]) == {"nova-cell0"}
    assert waits == []


def test_without_cell0_nothing_starts_however_long_it_takes() -> None:
    children, waits = handed(nova(), done("map-cell1", seconds=1000))
    assert "nova-api" not in children
    assert waits


def test_a_cell_whose_database_is_gone_stops_no_other_and_loses_nothing() -> None:
    status = {"registeredCells": {"nova-cell0": "a", "nova-cell1": "b"}}
    facts = replace(done("map-cell0"), cell_databases={"cell0": CELL0})
    children, waits = handed(nova(status), facts)
    assert {"nova-cell0", "nova-api", "nova-scheduler"} <= set(children)
    # The wait keeps what is not named from being removed, and the API is told of the same cells as before.
    assert [(wait.reason, wait.condition) for wait in waits] == [("CellNotReady", "NovaAllCellReady")]
    assert children["nova-api"]["registeredCells"]["nova-cell1"] == "b"


def test_services_get_secrets_and_not_what_is_in_them() -> None:
    children, _ = handed(nova(), done("map-cell0", "map-cell1"))
    assert children["nova-api"]["apiDatabaseSecret"] == "nova-api-database"
    assert children["nova-api"]["cell0DatabaseSecret"] == "nova-cell0-database"
    assert children["nova-cell1"]["cellDatabaseSecret"] == "nova-cell1-database"
    assert children["nova-cell1"]["secret"] == "nova-cell1"
    assert "p@ss" not in str(children)
    assert "hop" not in str(children)
    assert NOVA.exports is not None
    exported = {entry.name: set(entry.content) for entry in NOVA.exports(nova(), PARENT)}
    assert {"ServicePassword", "transport_url", "MetadataSecret", "quorum_queues"} <= exported["nova"]
    assert "MetadataSecret" not in exported["nova-cell1"]
    assert {"hostname", "port", "database", "user", "password"} <= exported["nova-cell1-database"]
    assert exported["nova-cell0-manage-scripts"] == {"ensure_cell_mapping.sh", "host_discover.sh", "delete_cell.sh"}


def test_a_cell_without_access_to_the_api_does_not_get_its_database() -> None:
    cells = {"cell0": {}, "cell1": {"hasAPIAccess": False}}
    children, _ = handed(nova(cellTemplates=cells), PARENT)
    assert "apiDatabaseSecret" not in children["nova-cell1"]
    assert children["nova-cell0"]["apiDatabaseSecret"] == "nova-api-database"


def used_by(resource: Any) -> set[str]:
    """Return the names of the Secrets by which the needs of a resource are met."""

    def look(kind: type[Any], name: str, **_: str) -> Any:
        return kind(metadata=ObjectMeta(name=name)) if kind is Secret else None

    needs = BY_KIND[resource.kind.name].needs_of(resource)
    return {secret.metadata.name for need in needs for secret in need.used(resource, Sight(look, {}))}


@pytest.mark.parametrize(
    "cell1",
    [
        pytest.param({}, id="a-plain-cell"),
        pytest.param({"hasAPIAccess": False}, id="without-the-database-of-the-api"),
        pytest.param({"noVNCProxyServiceTemplate": {"enabled": False}}, id="without-consoles"),
        pytest.param({"metadataServiceTemplate": {"enabled": True}}, id="with-metadata-of-its-own"),
        pytest.param({"novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver"}}}, id="with-a-compute"),
    ],
)
def test_each_secret_names_those_who_read_it_and_nobody_else_who_is_there(cell1: dict[str, Any]) -> None:
    """One that is named and does not read it would be waited for without end; one that is not costs two writes."""
    own = cell1.get("metadataServiceTemplate", {}).get("enabled", False)
    resource = nova(cellTemplates={"cell0": {}, "cell1": cell1}, metadataServiceTemplate={"enabled": not own})
    facts = replace(done("map-cell0", "map-cell1"), passwords=dict.fromkeys((METADATA, f"{CELL_METADATA}.cell1"), "x"))
    assert NOVA.exports is not None
    assert CELL.children is not None
    made_here = [item for item in children_of(resource, facts) if isinstance(item, Child)]
    there = [msgspec.convert(item.body, item.of) for item in made_here]
    for cell in [found for found in there if isinstance(found, NovaCell)]:
        below = (item for item in CELL.children(cell, CELL_FACTS) if isinstance(item, Child))
        there.extend(msgspec.convert(item.body, item.of) for item in below)
    reads = {(found.kind.name, found.metadata.name): used_by(found) for found in there}
    for entry in NOVA.exports(resource, facts):
        named = {reader for reader in entry.readers if reader in reads}
        assert named == {reader for reader, names in reads.items() if entry.name in names}, entry.name


def test_what_nova_manage_reads_is_written_whole_or_not_at_all() -> None:
    waiting = replace(PARENT, cell_brokers={})
    assert mapping.manage_files("cell1", nova(), PARENT)
    assert mapping.manage_files("cell1", nova(), waiting) == ()
    assert mapping.manage_files("cell0", nova(), waiting)
    resource = nova(cellTemplates={"cell0": {}, "cell1": {}})
    written = (
        {part.secret for part in configuration.parts(NOVA, resource, facts).values()} for facts in (PARENT, waiting)
    )
    both, first = {"nova-cell0-manage-config-data", "nova-cell1-manage-config-data"}, {"nova-cell0-manage-config-data"}
    assert list(written) == [both, first]


def test_a_mapping_is_written_anew_when_a_credential_changes() -> None:
    facts = replace(PARENT, synced=True)
    before = mapping.map_inputs("cell1", nova(), facts)
    rotated = replace(facts, cell_databases={**facts.cell_databases, "cell1": replace(CELL1, password="other")})
    assert before is not None
    assert mapping.map_inputs("cell1", nova(), rotated) != before
    assert mapping.map_inputs("cell0", nova(), rotated) == mapping.map_inputs("cell0", nova(), facts)
    # The tables of the API have to be there.
    assert mapping.map_inputs("cell1", nova(), PARENT) is None


def test_a_cell_that_is_not_declared_any_more_stays_until_it_is_removed() -> None:
    status = {"registeredCells": {"nova-cell0": "a", "nova-cell2": "b"}}
    only = nova(status, cellTemplates={"cell0": {}})
    jobs = [job.name for job in NOVA.jobs_of(only)]
    assert [name for name in jobs if not name.startswith(("sync-", "migrate-"))] == ["map-cell0", "delete-cell2"]
    children, waits = handed(only, done("map-cell0"))
    assert [(wait.reason, wait.condition) for wait in waits] == [("CellNotEmpty", "NovaCellsDeletion")]
    # What they found at their start they remember: they start again when it is gone, and not before.
    assert set(children["nova-api"]["registeredCells"]) == {"nova-cell0", "nova-cell2"}
    assert set(mapping.remembered(only, done("map-cell0"))) == {"nova-cell0", "nova-cell2"}
    gone = done("map-cell0", "delete-cell2")
    children, waits = handed(only, gone)
    assert waits == []
    assert set(children["nova-api"]["registeredCells"]) == {"nova-cell0"}
    assert set(mapping.remembered(only, gone)) == {"nova-cell0"}


def test_each_cell_has_a_secret_of_its_own_for_nova_manage() -> None:
    found = configuration.secrets(configuration.parts(NOVA, nova(), replace(PARENT, synced=True)).values())
    assert set(found) == {"nova-cell0-manage-config-data", "nova-cell1-manage-config-data"}
    first, second = (ini.parse(found[f"nova-{cell}-manage-config-data"]["01-nova.conf"]) for cell in ("cell0", "cell1"))
    assert not isinstance(first, ini.Problem)
    assert not isinstance(second, ini.Problem)
    # Nobody talks to cell0 by a broker.
    assert "transport_url" not in first["DEFAULT"]
    assert second["DEFAULT"]["transport_url"] == ("rabbit://cell1:hop@rabbitmq-cell1:5672/",)


SLOW = {"override": {"probes": {"livenessProbes": {"periodSeconds": 77}}}}


@pytest.mark.parametrize(
    ("kind", "name", "spec"),
    [
        ("NovaAPI", "nova-api", {"apiServiceTemplate": SLOW}),
        ("NovaScheduler", "nova-scheduler", {"schedulerServiceTemplate": SLOW}),
        ("NovaMetadata", "nova-metadata", {"metadataServiceTemplate": SLOW}),
        ("NovaConductor", "nova-cell1-conductor", {"conductorServiceTemplate": SLOW}),
        ("NovaNoVNCProxy", "nova-cell1-novncproxy", {"noVNCProxyServiceTemplate": SLOW}),
        (
            "NovaCompute",
            "nova-cell1-fake-compute",
            {"novaComputeTemplates": {"fake": {"computeDriver": "fake.FakeDriver", **SLOW}}},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_probes_of_every_service_can_be_set_from_the_top(kind: str, name: str, spec: dict[str, Any]) -> None:
    top = any(field in spec for field in ("apiServiceTemplate", "schedulerServiceTemplate", "metadataServiceTemplate"))
    asked = nova(**spec) if top else nova(cellTemplates={"cell0": {}, "cell1": spec})
    children, _ = handed(asked, done("map-cell0", "map-cell1"))
    if not top:
        assert CELL.children is not None
        cell = msgspec.convert({"metadata": {"name": "nova-cell1"}, "spec": children["nova-cell1"]}, CELL.kind)
        found = CELL.children(cell, CELL_FACTS)
        children = {item.key.name: item.body["spec"] for item in found if isinstance(item, Child)}
    service = BY_KIND[kind]
    leaf = msgspec.convert({"metadata": {"name": name, "namespace": "openstack"}, "spec": children[name]}, service.kind)
    (component,) = values.values(service, leaf, replace(FACTS, name=name))["components"].values()
    assert component["probes"] == {"liveness": {"periodSeconds": 77}}


def test_rows_of_deleted_servers_are_archived_where_the_database_of_the_api_can_be_asked() -> None:
    conductor = BY_KIND["NovaConductor"]
    (schedule,) = conductor.schedules
    asked = made("NovaConductor", apiDatabaseSecret="nova-api-database", dbPurge={"schedule": "1 2 * * *"})
    assert schedule.when(asked) == "1 2 * * *"
    assert schedule.command(asked).endswith("dbpurge.sh 30 90")
    assert not schedule.suspended(asked)
    assert schedule.suspended(made("NovaConductor"))


# What is refused.


def cells(**further: Any) -> dict[str, Any]:
    return {"cell0": {}, **further}


FAKE = {"computeDriver": "fake.FakeDriver"}
ELSEWHERE = {"name": "spread", "namespace": "elsewhere"}


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({"cellTemplates": {"cell1": {}}}, "spec.cellTemplates", "cell0 specification is missing"),
        ({"cellTemplates": cells(**{"c" * 36: {}})}, f"spec.cellTemplates[{'c' * 36}]", "shorter than 36 characters"),
        ({"cellTemplates": cells(Cell={})}, "spec.cellTemplates[Cell]", "should match with the regex"),
        (
            {"cellTemplates": {"cell0": {"metadataServiceTemplate": {"enabled": True}}}},
            "spec.cellTemplates[cell0].metadataServiceTemplate.enabled",
            "should be false",
        ),
        (
            {"cellTemplates": {"cell0": {"noVNCProxyServiceTemplate": {"enabled": True}}}},
            "spec.cellTemplates[cell0].noVNCProxyServiceTemplate.enabled",
            "should be false for cell0",
        ),
        (
            {"cellTemplates": {"cell0": {"novaComputeTemplates": {"a": FAKE}}}},
            "spec.cellTemplates[cell0].novaComputeTemplates",
            "zero elements",
        ),
        (
            {"cellTemplates": cells(cell1={"metadataServiceTemplate": {"enabled": True}})},
            "spec.cellTemplates[cell1].metadataServiceTemplate.enabled",
            "either enabled on top or in the cells",
        ),
        (
            {"cellTemplates": cells(a={"messagingBus": {"cluster": "one"}}, b={"messagingBus": {"cluster": "one"}})},
            "spec.cellTemplates[b].messagingBus.cluster",
            "duplicated with cell: a",
        ),
        (
            {"cellTemplates": cells(cell1={"messagingBus": {"cluster": "rabbitmq"}})},
            "spec.cellTemplates[cell1].messagingBus.cluster",
            "broker of the API",
        ),
        (
            {"cellTemplates": cells(cell1={"novaComputeTemplates": {"c" * 21: FAKE}})},
            f"spec.cellTemplates[cell1].novaComputeTemplates[{'c' * 21}]",
            "shorter than 20",
        ),
        (
            {
                "cellTemplates": cells(
                    cell1={"novaComputeTemplates": {"i": {"computeDriver": "ironic.IronicDriver", "replicas": 2}}}
                )
            },
            "spec.cellTemplates[cell1].novaComputeTemplates[i].replicas",
            "max 1",
        ),
        (
            {"apiServiceTemplate": {"defaultConfigOverwrite": {"nova.conf": "x"}}},
            "spec.apiServiceTemplate.defaultConfigOverwrite",
            "policy.yaml, api-paste.ini, nova_api_audit_map.conf",
        ),
    ],
)
def test_what_cannot_be_is_refused_at_its_path(spec: dict[str, Any], path: str, words: str) -> None:
    assert words in problems(nova(**spec))[path]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"topologyRef": ELSEWHERE}, "spec.topologyRef"),
        ({"schedulerServiceTemplate": {"topologyRef": ELSEWHERE}}, "spec.schedulerServiceTemplate.topologyRef"),
        (
            {"cellTemplates": cells(cell1={"novaComputeTemplates": {"c": {**FAKE, "topologyRef": ELSEWHERE}}})},
            "spec.cellTemplates[cell1].novaComputeTemplates[c].topologyRef",
        ),
    ],
)
def test_a_topology_of_another_namespace_is_refused(spec: dict[str, Any], path: str) -> None:
    found = dict(refusals.problems(BY_KIND["Nova"], nova(**spec), nobody, None))
    assert found == {f"{path}.namespace": 'Invalid value: "namespace": Customizing namespace field is not supported'}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"cellTemplates": cells(cell1={"messagingBus": {"cluster": "rabbitmq", "vhost": "cell1"}})},
        {
            "metadataServiceTemplate": {"enabled": False},
            "cellTemplates": cells(cell1={"metadataServiceTemplate": {"enabled": True}}),
        },
        {"cellTemplates": cells(cell1={"novaComputeTemplates": {"a": {**FAKE, "replicas": 2}}})},
        {
            "cellTemplates": {
                "cell0": {"conductorServiceTemplate": {"replicas": 0}},
                "cell1": {"messagingBus": {"cluster": "rabbitmq"}},
            }
        },
    ],
    ids=["the-least", "a-vhost-of-its-own", "metadata-in-cells", "two-fake-computes", "a-collapsed-cell"],
)
def test_what_can_be_is_taken(spec: dict[str, Any]) -> None:
    assert problems(nova(**spec)) == {}


def test_a_metadata_service_without_a_database_is_refused() -> None:
    assert set(problems(made("NovaMetadata", apiDatabaseSecret=""))) == {"spec.apiDatabaseSecret"}


def test_every_service_of_a_cell_is_told_the_same() -> None:
    assert CELL.children is not None
    spec = {
        "metadataServiceTemplate": {"enabled": True},
        "novaComputeTemplates": {"fake": FAKE},
        "nodeSelector": {"here": "yes"},
        "apiDatabaseSecret": "nova-api-database",
        "cellDatabaseSecret": "nova-cell1-database",
    }
    cell = made("NovaCell", "nova-cell1", **spec)
    found = {item.key.name: item.body["spec"] for item in CELL.children(cell, CELL_FACTS) if isinstance(item, Child)}
    assert set(found) == {
        "nova-cell1-conductor",
        "nova-cell1-metadata",
        "nova-cell1-novncproxy",
        "nova-cell1-fake-compute",
    }
    for said in found.values():
        assert said["cellName"] == "cell1"
        assert said["secret"] == LEAST["NovaCell"]["secret"]
        assert said["nodeSelector"] == {"here": "yes"}
    # It serves one cell, and asks nothing of the API's database.
    assert "apiDatabaseSecret" not in found["nova-cell1-metadata"]
