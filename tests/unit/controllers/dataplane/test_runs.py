"""What a run's log says, what its Job is, how it ends, and who has a node."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stackwright.api.ansibleee import (
    HostResult,
    OpenStackAnsibleEE,
    OpenStackAnsibleEESpec,
    OpenStackAnsibleEEStatus,
    RunNode,
)
from stackwright.api.base import ObjectMeta
from stackwright.api.dataplane import (
    OpenStackDataPlaneNode,
    OpenStackDataPlaneNodeSpec,
    OpenStackDataPlaneNodeStatus,
    ServiceRecord,
)
from stackwright.api.dataplane_service import DataSource
from stackwright.api.node_sections import ObjectReference
from stackwright.blueprint.dataplane.inheritance import Machine
from stackwright.blueprint.dataplane.inputs import Work
from stackwright.blueprint.dataplane.schedule import Due, NewRun
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.blueprint.secret_values import encode, texts_of
from stackwright.blueprint.use import Used
from stackwright.controllers.dataplane import nodes, run_job, run_log, runs
from stackwright.controllers.dataplane.occupancy import find_holder
from stackwright.controllers.dataplane.preparation import Prepared
from stackwright.controllers.dataplane.run_inputs import describe_run
from stackwright.controllers.dataplane.run_log import Progress, conclude, read_lines, secret_words
from stackwright.kube.builtin import Job, Pod, Secret
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Key
from tests.unit.controllers.dataplane.run_parts import Server, job, pod, run, waiting, world

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def lines(*events: dict[str, Any]) -> list[str]:
    return [json.dumps(event) for event in events]


OK = {"host": "one", "status": "ok", "task": "Begin"}
BAD = {"host": "two", "status": "failed", "task": "Write", "message": "No space\nleft"}
SUMMARY = {"summary": {"one": "ok", "two": "failed"}}


def test_the_log_says_how_each_host_fares_and_how_it_ended() -> None:
    going = read_lines(Progress(), ["PLAY [all] ***", "{broken", "[]", *lines(OK, BAD)])
    assert {name: (host.state, host.task) for name, host in going.hosts.items()} == {
        "one": ("Running", "Begin"),
        "two": ("Failed", "Write"),
    }
    assert not going.complete
    over = read_lines(going, lines(SUMMARY))
    assert over.complete
    assert (over.hosts["one"].state, over.hosts["one"].task) == ("Ok", "")
    assert (over.hosts["two"].state, over.hosts["two"].message) == ("Failed", "No space left")


def test_lines_that_are_read_twice_change_nothing() -> None:
    every = lines(OK, BAD, SUMMARY)
    once = read_lines(Progress(), every)
    assert read_lines(read_lines(Progress(), every[:2]), every) == once


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        pytest.param("M\udcfcnchen", "M?nchen", id="a-banner-in-latin-1"),
        pytest.param("\ud83d", "?", id="the-first-half-of-a-character"),
        pytest.param("\U0001f600 is \\ud83d", "\U0001f600 is \\ud83d", id="text"),
    ],
)
def test_what_a_machine_says_that_is_no_text_can_be_written_into_a_status(said: str, shown: str) -> None:
    """Ansible passes on the bytes that it cannot read, as halves of characters; no server takes these."""
    event = {"host": "two", "status": "unreachable", "task": said, "message": said}
    (host,) = read_lines(Progress(), lines(event)).hosts.values()
    assert (host.task, host.message) == (shown, shown)
    assert msgspec.json.decode(msgspec.json.encode(host), type=HostResult) == host


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("[" * 100_000, id="very-deep"),
        pytest.param('{"host": "one", "status": {"code": 200}}', id="the-status-of-something-else"),
        pytest.param("9" * 10_000, id="a-long-number"),
    ],
)
def test_a_line_that_is_no_event_says_nothing(line: str) -> None:
    assert read_lines(Progress(), [line]) == Progress()


def test_a_host_that_is_done_after_a_failure_has_failed() -> None:
    found = read_lines(Progress(), lines(BAD, {"host": "two", "status": "done"}))
    assert (found.hosts["two"].state, found.hosts["two"].task) == ("Failed", "Write")


def test_no_message_shows_a_secret() -> None:
    words = secret_words(["[database]\nconnection = mysql://nova:hunter2@db\n", "s3cr3t-word", "on"])
    event = {**BAD, "task": "Log in with s3cr3t-word", "message": "mysql://nova:hunter2@db refused, s3cr3t-word is on"}
    (host,) = read_lines(Progress(), lines(event), words).hosts.values()
    assert (host.task, host.message) == ("Log in with (hidden)", "(hidden) refused, (hidden) is on")


CONFIGURATION = """\
[DEFAULT]
state_path = /var/lib/nova
[placement]
auth_type = password
password = hunter2hunter2
project_name = service
valid_interfaces = public
region_name=regionOne
unknown_option = something
[barbican]
barbican_endpoint_type = public
"""


def test_what_is_no_secret_in_a_configuration_stays_in_the_names_of_tasks() -> None:
    said = "Run the service in /var/lib/nova, and read the public host key of regionOne by its password"
    event = {**BAD, "task": said, "message": "hunter2hunter2 and something"}
    (host,) = read_lines(Progress(), lines(event), secret_words([CONFIGURATION])).hosts.values()
    assert (host.task, host.message) == (said, "(hidden) and (hidden)")
    # Who has such a word for a password has it hidden; and a file of another form is secret as a whole.
    assert "service" in secret_words([CONFIGURATION, "[neutron]\npassword = service\n"])
    assert {"s3cr3t-word", "other-word"} <= secret_words(["username=s3cr3t-word\nproject_name: other-word\n"])


def test_the_password_of_a_url_is_a_secret_of_its_own() -> None:
    words = secret_words(["[DEFAULT]\ntransport_url = rabbit://nova:hunter2@a:5672,nova:hunter2@b:5672/?ssl=1\n"])
    (host,) = read_lines(Progress(), lines({**BAD, "message": "login with hunter2 refused"}), words).hosts.values()
    assert host.message == "login with (hidden) refused"


def test_keys_of_machines_are_taken_from_the_log_and_nothing_else() -> None:
    key = f"192.0.2.10 ssh-ed25519 {'A' * 40}"
    every = lines(OK, {"hostKeys": [key, "|1|hashed= ssh-ed25519 AAAA", "@cert-authority * ssh-rsa A", 7]}, SUMMARY)
    over = read_lines(Progress(), every)
    assert over.host_keys == {key}
    status = runs.conclude(run(), runs.Seen(NOW, 1, "image", job=Job(), progress=over))
    assert status.hostKeys == (key,)


def test_the_pod_knows_what_it_must_not_show() -> None:
    sources = (
        DataSource(secretRef=ObjectReference(name="nova-config")),
        DataSource(configMapRef=ObjectReference(name="plain")),
        DataSource(secretRef=ObjectReference(name="nova-config")),
    )
    pod = run_job.describe_job(run(inventorySecretName="hosts", dataSources=sources), "i")["spec"]["template"]["spec"]
    hidden = {each["name"]: each["secret"] for each in pod["volumes"] if each["name"].startswith("hidden")}
    assert [each["secretName"] for each in hidden.values()] == ["hosts", "nova-config"]
    assert hidden["hidden"]["items"] == [{"key": "hidden.json", "path": "hidden.json"}]
    places = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    assert {places[name] for name in hidden} == {f"/runner/hidden/{name}" for name in hidden}


# As OpenSSH 10 says it, by Ansible.
CHANGED = f"""Task failed: Failed to connect to the host via ssh: {"@" * 59}\r
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r
{"@" * 59}\r
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\r
Someone could be eavesdropping on you right now (man-in-the-middle attack)!\r
It is also possible that a host key has just been changed.\r
The fingerprint for the ED25519 key sent by the remote host is\nSHA256:{"x" * 43}.\r
Please contact your system administrator.\r
Add correct host key in /runner/env/known_hosts to get rid of this message.\r
Offending ED25519 key in /runner/env/known_hosts:2\r
  remove with:\r
  ssh-keygen -f '/runner/env/known_hosts' -R '10.192.0.65'\r
Host key for 10.192.0.65 has changed and you have requested strict checking.\r
Host key verification failed."""


def test_another_key_of_a_machine_is_named_as_the_reason() -> None:
    event = {"host": "two", "status": "unreachable", "task": "Write", "message": CHANGED}
    (result,) = conclude(read_lines(Progress(), [json.dumps(event)]), ["two"], succeeded=False)
    for name in ("reach", "greet"):
        found = nodes.failure_of(ServiceRecord(name=name, message=result.message, failures=1), "SetupReady")
        assert (found.reason, found.status) == ("HostKeyChanged", "False")
        assert "known_hosts" in found.message


def test_a_node_remembers_the_key_that_its_machine_was_met_with() -> None:
    machine = Machine("one", "one", "192.0.2.10", "key")
    key = f"192.0.2.10 ssh-ed25519 {'A' * 40}"
    status = OpenStackAnsibleEEStatus(finishedAt="2026-11-16T00:00:00Z", hostKeys=(key, f"192.0.2.11 {key[11:]}"))
    met = msgspec.structs.replace(run("reach-1", "one", service="reach"), status=status)
    node = OpenStackDataPlaneNode(metadata=ObjectMeta(name="one"), spec=OpenStackDataPlaneNodeSpec(role="r"))
    told = nodes.tell(node, nodes.Seen(Prepared(machine, Variables(), ()), (met,)))
    assert told.hostKeys == (key,)
    # It stays when the runs are gone.
    later = msgspec.structs.replace(node, status=told)
    assert nodes.tell(later, nodes.Seen(Prepared(machine, Variables(), ()))).hostKeys == (key,)


def test_a_node_is_marked_with_the_exports_that_a_service_of_its_role_applied() -> None:
    machine, export = Machine("one", "one", "192.0.2.10", "key"), Used("cell1-compute-config", "new")
    record = ServiceRecord(name="nova", run="x", appliedHash="1", inputHash="1", exports={export.name: "old"})
    status = OpenStackDataPlaneNodeStatus(services=(record,))
    metadata, spec = ObjectMeta(name="one"), OpenStackDataPlaneNodeSpec(role="r")
    node = OpenStackDataPlaneNode(metadata=metadata, spec=spec, status=status)
    for inputs, expected in (("1", "new"), ("2", "old")):
        wanted = Prepared(machine, Variables(), (Due("nova", inputs, "", (export,)),))
        (told,) = nodes.tell(node, nodes.Seen(wanted)).services
        assert told.exports == {export.name: expected}


def test_recorded_and_given_keys_of_machines_are_files_of_a_run() -> None:
    mine = run(sshKeySecretName="key")
    assert run_job.describe_files(mine, "a line\n")["data"]["recorded_hosts"] == "a line\n"
    assert "recorded_hosts" not in run_job.describe_files(mine)["data"]
    (env,) = (
        each for each in run_job.describe_job(mine, "i")["spec"]["template"]["spec"]["volumes"] if each["name"] == "env"
    )
    optional = [source for source in env["projected"]["sources"] if next(iter(source.values())).get("optional")]
    assert [next(iter(source.values()))["items"][0]["path"] for source in optional] == ["known_hosts", "recorded_hosts"]


def test_a_message_is_short() -> None:
    (host,) = read_lines(Progress(), lines({**BAD, "message": f"rc 1 {'word ' * 1000}and the cause"})).hosts.values()
    assert len(host.message) <= run_log.LONGEST
    assert host.message.startswith("rc 1 word")
    assert host.message.endswith(" word and the cause")


@pytest.mark.parametrize(
    ("succeeded", "states"),
    [
        pytest.param(True, ["Ok", "Failed", "Ok"], id="a-job-that-succeeded-has-applied-everything"),
        pytest.param(False, ["Unknown", "Failed", "Unknown"], id="nobody-knows-how-far-a-lost-pod-was"),
    ],
)
def test_a_run_that_ends_without_a_summary(succeeded: bool, states: list[str]) -> None:
    found = conclude(read_lines(Progress(), lines(OK, BAD)), ["one", "two", "zero"], succeeded=succeeded)
    assert [host.state for host in found] == states


def test_a_run_that_broke_before_it_got_to_its_machines_says_why() -> None:
    progress = read_lines(Progress(), lines({"summary": {}, "message": "ERROR! the playbook could not be found"}))
    assert progress.complete
    found = conclude(progress, ["one", "two"], succeeded=False)
    assert {(host.state, host.message) for host in found} == {("Unknown", "ERROR! the playbook could not be found")}


PLAYS = (
    {"play": "Begin", "hosts": "computes"},
    {"play": "computes", "hosts": "computes"},
    {"play": "x", "hosts": "db"},
)
NO_PLAY = (
    "The playbook has no play with tasks for this node (hosts: computes, db); write `hosts: all` or `hosts: two` "
    "into it, and exclude no hosts or tasks by cmdLine"
)


@pytest.mark.parametrize(
    ("events", "message"),
    [
        pytest.param((*PLAYS, {"summary": {"one": "ok"}}), NO_PLAY, id="it-has-plays-for-others"),
        pytest.param(
            ({"summary": {"one": "ok"}},),
            NO_PLAY.replace(" (hosts: computes, db)", ""),
            id="an-image-that-does-not-tell-of-plays",
        ),
        pytest.param(
            (*PLAYS, {**BAD, "host": "one"}, {"summary": {"one": "failed"}}),
            f"Others failed, perhaps before Ansible got to this node; correct them first. If not: {NO_PLAY}",
            id="perhaps-it-ended-before",
        ),
    ],
)
def test_a_node_that_no_play_is_for_is_told_so(events: tuple[dict[str, Any], ...], message: str) -> None:
    progress = read_lines(Progress(), lines(*events))
    assert read_lines(progress, lines(*events)) == progress
    (two,) = (host for host in conclude(progress, ["one", "two"], succeeded=False) if host.host == "two")
    assert (two.state, two.message) == ("Failed", message)


def seen(progress: Progress, *, ended: bool | None = None) -> runs.Seen:
    return runs.Seen(NOW, 2.0, "image", job=Job(), ended=ended, progress=progress, worked=True)


def test_a_run_waits_for_its_job_and_then_says_who_failed() -> None:
    going = seen(read_lines(Progress(), lines(OK, BAD)))
    (wait,) = runs.decide(run(), going).waits
    assert (wait.reason, wait.after) == ("Running", 2.0)
    assert runs.conclude(run(), going).jobStatus == "Running"
    over = seen(read_lines(Progress(), lines(OK, BAD, SUMMARY)))
    with pytest.raises(Blocked, match="Not applied: two failed in task Write: No space left"):
        runs.decide(run(), over)
    assert runs.conclude(run(), over).finishedAt == "2026-11-16T00:00:00Z"


def test_a_run_that_has_ended_stays_as_it_is() -> None:
    done = run(finished=True)
    assert runs.conclude(done, seen(Progress(), ended=False)) is done.status


def test_a_job_has_its_inputs_where_ansible_looks_for_them() -> None:
    spec: dict[str, Any] = {
        "playbook": "",
        "playbookContents": "- hosts: all\n",
        "inventorySecretName": "inventory",
        "sshKeySecretName": "key",
        "dataSources": (DataSource(secretRef=ObjectReference(name="nova-cell1-compute-config")),),
        "serviceType": "nova",
        "networkAttachments": ("ctlplane",),
    }
    job = run_job.describe_job(run(**spec), "image")
    template = job["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert container["args"] == ["ansible-runner", "run", "/runner", "-p", "playbook.yaml", "-i", "prepare-1"]
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in template["spec"]["volumes"]}
    assert volumes[mounts["/runner/inventory"]]["secret"]["items"] == [{"key": "hosts.yaml", "path": "hosts.yaml"}]
    assert {"key": "ssh-privatekey", "path": "ssh_key"} in [
        item
        for source in volumes[mounts["/runner/env"]]["projected"]["sources"]
        for part in source.values()
        for item in part["items"]
    ]
    # ansible-runner takes an empty file for what it is not.
    assert set(run_job.describe_files(run(**spec))["data"]) == {"settings", "playbook.yaml"}
    assert mounts["/var/lib/openstack/configs/nova"] == "configs"
    assert template["metadata"]["annotations"][run_job.NETWORKS_ANNOTATION] == '[{"name": "ctlplane"}]'
    # A pod that ended by itself is not run again on all hosts; one that was killed is replaced once it is gone.
    assert job["spec"]["podReplacementPolicy"] == "Failed"
    assert job["spec"]["podFailurePolicy"]["rules"][0]["action"] == "FailJob"


@pytest.mark.parametrize(
    ("other", "jobs", "pods", "begun", "holder"),
    [
        pytest.param(run("b", "two"), ["b"], [], [], ("two", "b"), id="another-has-a-job"),
        pytest.param(run("b", "two"), [], [], ["b"], ("two", "b"), id="another-began-a-moment-ago"),
        pytest.param(run("b", "two"), [], [], [], None, id="another-only-waits"),
        pytest.param(run("b", "three"), ["b"], [], [], None, id="another-has-other-nodes"),
        pytest.param(run("b", "two", finished=True), ["b"], [], ["b"], None, id="another-has-ended"),
        pytest.param(None, [], [pod("b", "Running", "two")], [], ("two", "b"), id="the-pod-of-one-that-is-gone"),
        pytest.param(None, [], [pod("b", "Failed", "two")], [], None, id="a-pod-that-has-ended"),
        pytest.param(run("a"), ["a"], [pod("a", "Running", "two")], ["a"], None, id="what-is-its-own"),
        pytest.param(
            None,
            [],
            [pod("a", "Running", "two", of="earlier")],
            [],
            ("two", "a"),
            id="a-pod-of-an-earlier-run-of-its-name",
        ),
        pytest.param(None, [], [pod("a", "Running", "two")], [], ("two", "a"), id="a-pod-of-its-own-job-that-is-gone"),
    ],
)
def test_who_has_a_node(
    other: OpenStackAnsibleEE | None,
    jobs: list[str],
    pods: list[Pod],
    begun: list[str],
    holder: tuple[str, str] | None,
) -> None:
    others = [other] if other is not None else []
    there = {Key("openstack", name): job(name, nodes=("nobody",)) for name in jobs}
    assert find_holder(run("a"), others, there, pods, begun) == holder


def test_who_has_a_machine_has_it_for_all_nodes() -> None:
    there, taken = (
        msgspec.structs.replace(
            run(name),
            spec=OpenStackAnsibleEESpec(playbook="a.b.c", nodes=(RunNode(name=node, address="192.0.2.7:22"),)),
        )
        for name, node in (("b", "new"), ("a", "old"))
    )
    assert find_holder(there, [taken], {taken.key: job("a", nodes=("nobody",))}, [], []) == ("192.0.2.7:22", "a")
    # The node is gone, and its run with it; the pod still works.
    annotations = run_job.describe_job(taken, "image")["spec"]["template"]["metadata"]["annotations"]
    left = msgspec.structs.replace(
        pod("a", "Running", ""),
        metadata=ObjectMeta(name="a-x", labels={run_job.RUN_LABEL: "a"}, annotations=annotations),
    )
    assert find_holder(there, [], {}, [left], []) == ("192.0.2.7:22", "a")


@pytest.mark.parametrize(
    ("other", "there", "holder"),
    [
        pytest.param(None, job("b"), ("two", "b"), id="the-job-of-one-that-is-gone-makes-pods-until-it-is-gone-too"),
        pytest.param(
            run("b", "two", finished=True), job("b"), ("two", "b"), id="a-pod-after-its-last-word-is-replaced"
        ),
        pytest.param(run("b", "two", finished=True), job("b", ended="Complete"), None, id="it-has-ended"),
        pytest.param(None, job("b", ended="Failed"), None, id="it-has-failed"),
        pytest.param(None, job("b", deleting=True), None, id="a-job-that-goes-makes-no-pods"),
        pytest.param(None, job("b", nodes=("three",)), None, id="other-nodes"),
        pytest.param(None, job("a"), None, id="its-own"),
        pytest.param(None, job("a", of="earlier"), ("two", "a"), id="that-of-an-earlier-run-of-its-name"),
        pytest.param(run("b", "two"), job("b", of="earlier", ended="Failed"), None, id="another-run-only-waits-for-it"),
    ],
)
def test_a_job_has_its_nodes_until_it_has_ended(
    other: OpenStackAnsibleEE | None, there: Job, holder: tuple[str, str] | None
) -> None:
    others = [other] if other is not None else []
    assert find_holder(run("a"), others, {there.key: there}, (), ()) == holder


@pytest.mark.parametrize(
    ("there", "pods", "goes"),
    [
        pytest.param(job("a"), [waiting()], True, id="it-could-begin-when-others-have-its-nodes"),
        pytest.param(job("a"), [], True, id="or-its-pods-could"),
        pytest.param(job("a"), [waiting("Running", "running")], False, id="it-is-about-to-end"),
        pytest.param(job("a"), [waiting("Succeeded", "terminated")], False, id="its-pod-has-ended"),
        pytest.param(job("a", ended="Complete"), [waiting()], False, id="it-has-ended"),
        pytest.param(job("a", deleting=True), [waiting()], False, id="it-goes-already"),
        pytest.param(None, [], False, id="there-is-none"),
        pytest.param(job("a", of="earlier"), [], False, id="it-is-of-an-earlier-run"),
    ],
)
async def test_a_job_does_not_begin_after_its_run_has_ended(there: Job | None, pods: list[Pod], goes: bool) -> None:
    here = world(Server(*pods, *([there] if there is not None else [])))
    done = msgspec.structs.replace(
        run("a", finished=True), status=OpenStackAnsibleEEStatus(finishedAt="2026", jobStatus="Succeeded")
    )
    plan = runs.decide(done, await runs.observe(done, here))
    assert [type(step) for step in plan.steps] == ([runs.Discard] if goes else [])


@pytest.mark.parametrize(
    ("address", "same"),
    [
        pytest.param("ONE.example:22", "one.example:22", id="letters"),
        pytest.param("2001:DB8:0::1:22", "2001:db8::1:22", id="zeros"),
        pytest.param("::ffff:192.0.2.7:22", "192.0.2.7:22", id="an-address-of-ipv4-as-one-of-ipv6"),
        pytest.param("10.1:22", "10.0.0.1:22", id="numbers-that-are-left-out"),
    ],
)
def test_a_machine_is_taken_however_its_address_is_written(address: str, same: str) -> None:
    """As two nodes are one machine (`twins`): the one may be gone, and its pod not."""
    mine, other = (
        msgspec.structs.replace(
            run(name), spec=msgspec.structs.replace(run(name).spec, nodes=(RunNode(name=name, address=place),))
        )
        for name, place in (("a", address), ("b", same))
    )
    annotations = run_job.describe_job(other, "image")["spec"]["template"]["metadata"]["annotations"]
    left = pod("b", "Running", "")
    left = msgspec.structs.replace(left, metadata=msgspec.structs.replace(left.metadata, annotations=annotations))
    assert find_holder(mine, (other,), {}, (), {other.metadata.uid}) == (same, "b")
    assert find_holder(mine, (), {}, (left,), ()) == (same, "b")
    # The way round does not matter.
    assert find_holder(other, (mine,), {}, (), {mine.metadata.uid}) == (same, "a")


SECRETS = {
    "hosts": {"hosts.yaml": "all: {}", "hidden.json": '["of-the-inventory"]'},
    "own": {"hosts.yaml": "all:\n  password: of-the-inventory\n"},
    "broken": {"hidden.json": "[1", "x": "of-the-inventory"},
    "files": {"x.conf": "of-the-files"},
}


@pytest.mark.parametrize("inventory", ["hosts", "own", "broken"])
def test_also_optional_secrets_and_a_users_inventory_are_hidden(inventory: str) -> None:
    def look(_: Any, name: str, **__: Any) -> Secret:
        return Secret(metadata=ObjectMeta(name=name), data=encode(SECRETS[name]))

    sources = (DataSource(secretRef=ObjectReference(name="files", optional=True)),)
    hidden = runs._hidden(run(inventorySecretName=inventory, dataSources=sources), look)  # type: ignore[arg-type]  # it looks
    assert {"of-the-inventory", "of-the-files"} <= hidden


def test_secrets_of_the_environment_and_of_volumes_are_hidden_too() -> None:
    spec = {
        "playbook": "a.b.c",
        "env": [
            {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "of-the-environment", "key": "x"}}},
            {"name": "PLAIN", "value": "x"},
            {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "x"}}},
        ],
        "extraMounts": [
            {
                "volumes": [
                    {"name": "one", "secret": {"secretName": "of-a-volume"}},
                    {"name": "two", "projected": {"sources": [{"secret": {"name": "projected"}}, {"configMap": {}}]}},
                    {"name": "three", "emptyDir": {}},
                ],
                "mounts": [],
            }
        ],
    }
    of = msgspec.convert({"metadata": {"name": "a", "namespace": "n"}, "spec": spec}, OpenStackAnsibleEE)
    names = ["of-the-environment", "of-a-volume", "projected"]
    volumes = run_job.describe_job(of, "image")["spec"]["template"]["spec"]["volumes"]
    again = [each["secret"] for each in volumes if each["name"].startswith("hidden-")]
    assert again == [{"secretName": name, "optional": True} for name in names]

    def look(_: Any, name: str, **__: Any) -> Secret:
        return Secret(metadata=ObjectMeta(name=name), data=encode({"x": f"word-of-{name}"}))

    assert runs._hidden(of, look) >= {f"word-of-{name}" for name in names}  # type: ignore[arg-type]  # it looks


def test_parts_of_a_secret_variable_are_as_secret_as_the_whole() -> None:
    machine = Machine("one", "one", "192.0.2.10", "key")
    secret = {"database": {"login": ["nova", {"password": "hunter2hunter2"}], "pin": 123456}}
    prepared = Prepared(machine, Variables({}, secret), (Due("x", "h", "c"),))
    objects = describe_run("r", NewRun("x", ("one",), 1, "c"), Work("x", "image", playbook="p"), {"one": prepared})
    ((_, body),) = ((kind, body) for kind, body in objects if kind is Secret)
    texts = json.loads(texts_of(msgspec.convert(body, Secret))[run_job.HIDDEN_KEY])
    event = {**BAD, "message": "cannot log in with hunter2hunter2 and 123456"}
    (host,) = read_lines(Progress(), lines(event), secret_words(texts)).hosts.values()
    assert host.message == "cannot log in with (hidden) and (hidden)"
