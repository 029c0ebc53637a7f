"""What the simulated kubelet makes of a pod over time: phases, conditions, faults and their healing."""

from dataclasses import replace

import pytest
from msgspec import structs

from stackwright.simulator.behaviour import (
    Behaviour,
    Crash,
    Fault,
    ImageMissing,
    ProbeFailing,
    Script,
    Selector,
)
from stackwright.simulator.containers import duration
from stackwright.simulator.inputs import Inputs
from stackwright.simulator.kubelet import Host
from stackwright.simulator.objects import Address, Owner, PodCondition, PodMetadata
from tests.unit.simulator.play import HOST, Play, pod_of


def script(fault: Fault | None = None, **times: float | None) -> Script:
    return Script((Behaviour(fault=fault, **times),))  # type: ignore[arg-type]  # the fields are named by the tests


def test_a_pod_without_delays_is_ready_by_one_write() -> None:
    play = Play(pod_of("web"), script(ready_after=0.0))
    assert (play.status.phase, play.reason("web"), play.writes) == ("Running", "ready", 1)
    assert play.status.hostIP == HOST.address
    assert play.status.podIPs == (Address(ip=play.status.podIP),)
    assert [c.type for c in play.status.conditions if c.status == "True"] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]
    assert play.reasons_told == ["Pulled", "Created", "Started"]
    assert play.plan.steps == ()
    assert play.plan.waits == ()


@pytest.mark.parametrize(
    ("time", "phase", "reason", "ready"),
    [
        pytest.param(0.9, "Pending", "ContainerCreating", "False", id="before-its-start-it-is-pending"),
        pytest.param(1.0, "Running", "running", "False", id="started-it-runs-and-is-not-ready"),
        pytest.param(2.9, "Running", "running", "False", id="and-is-not-ready-until-its-time"),
        pytest.param(3.0, "Running", "ready", "True", id="then-it-is-ready"),
        pytest.param(99.0, "Running", "ready", "True", id="and-stays-so"),
    ],
)
def test_a_pod_starts_and_becomes_ready_in_its_time(time: float, phase: str, reason: str, ready: str) -> None:
    play = Play(pod_of("web"), script(start_after=1.0, ready_after=2.0)).until(time)
    assert (play.status.phase, play.reason("web"), play.condition("Ready")[0]) == (phase, reason, ready)


def test_a_pod_that_is_ready_stays_so_for_a_simulator_that_takes_over() -> None:
    before = Play(pod_of("web"), script(ready_after=5.0)).until(5.0)
    assert before.reason("web") == "ready"
    after = Play(before.pod, script(ready_after=5.0))
    assert (after.reason("web"), after.writes) == ("ready", 0)


def test_containers_that_are_not_ready_are_named() -> None:
    play = Play(pod_of("api", "log"), script(ready_after=5.0))
    ready = play.status.condition("Ready")
    assert ready is not None
    assert (ready.reason, ready.message) == ("ContainersNotReady", "containers with unready status: [api log]")


@pytest.mark.parametrize(
    ("time", "reasons"),
    [
        pytest.param(0.5, ["running", "PodInitializing", "PodInitializing"], id="the-first-runs-alone"),
        pytest.param(1.5, ["Completed 0", "running", "PodInitializing"], id="the-second-follows"),
        pytest.param(2.5, ["Completed 0", "Completed 0", "running"], id="the-others-start-when-both-are-done"),
    ],
)
def test_init_containers_run_in_order(time: float, reasons: list[str]) -> None:
    pod = pod_of("web", inits=({"name": "first"}, {"name": "second"}))
    play = Play(pod, script(init_for=1.0, ready_after=10.0)).until(time)
    assert [play.reason(name) for name in ("first", "second", "web")] == reasons
    assert play.status.phase == ("Running" if time > 2 else "Pending")
    initialized = ("True", "") if time > 2 else ("False", "ContainersNotInitialized")
    assert play.condition("Initialized") == initialized


def test_a_sidecar_starts_before_the_others_and_runs_on() -> None:
    pod = pod_of("web", inits=({"name": "proxy", "restartPolicy": "Always"}, {"name": "first"}))
    play = Play(pod, script(init_for=1.0, ready_after=0.5)).until(0.6)
    assert [play.reason(name) for name in ("proxy", "first", "web")] == ["ready", "running", "PodInitializing"]
    play.until(5.0)
    assert [play.reason(name) for name in ("proxy", "first", "web")] == ["ready", "Completed 0", "ready"]
    assert play.condition("Ready") == ("True", "")


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_a_pod_that_runs_to_completion_succeeds_after_its_time(policy: str) -> None:
    pod = pod_of("sync", inits=({"name": "proxy", "restartPolicy": "Always"},), restartPolicy=policy)
    play = Play(pod, script(runs_for=2.0)).until(1.9)
    assert (play.status.phase, play.reason("sync")) == ("Running", "ready")
    play.until(2.0)
    assert (play.status.phase, play.reason("sync"), play.reason("proxy")) == ("Succeeded", "Completed 0", "Completed 0")
    assert play.condition("Ready") == ("False", "PodCompleted")
    assert play.condition("Initialized") == ("True", "PodCompleted")
    assert play.plan.waits == ()


def test_a_pod_may_be_told_never_to_complete() -> None:
    play = Play(pod_of("sleep", restartPolicy="Never"), script(runs_for=None)).until(10_000.0)
    assert (play.status.phase, play.reason("sleep")) == ("Running", "ready")


# Faults.


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        pytest.param(0.0, "ErrImagePull", id="the-pull-fails-at-once"),
        pytest.param(1.0, "ImagePullBackOff", id="then-it-backs-off"),
        pytest.param(11.0, "ErrImagePull", id="and-tries-again-after-ten-seconds"),
        pytest.param(12.5, "ImagePullBackOff", id="and-backs-off"),
        pytest.param(31.9, "ImagePullBackOff", id="for-twice-as-long"),
        pytest.param(32.1, "ErrImagePull", id="before-the-third-try"),
    ],
)
def test_a_missing_image_is_tried_again_and_again(time: float, reason: str) -> None:
    play = Play(pod_of("web"), script(ImageMissing())).until(time)
    assert (play.status.phase, play.reason("web"), play.condition("Ready")[0]) == ("Pending", reason, "False")
    assert play.status.podIP == ""


def test_a_missing_image_leaves_the_events_of_a_kubelet() -> None:
    play = Play(pod_of("web"), script(ImageMissing("no such image"))).until(2.0)
    assert [(event.type, event.reason, event.note) for event in play.told] == [
        ("Normal", "Pulling", 'Pulling image "registry/web:1"'),
        ("Warning", "Failed", 'Failed to pull image "registry/web:1": no such image'),
        ("Warning", "Failed", "Error: ErrImagePull"),
        ("Normal", "BackOff", 'Back-off pulling image "registry/web:1"'),
        ("Warning", "Failed", "Error: ImagePullBackOff"),
    ]
    waiting = play.status.containerStatuses[0].state.waiting
    assert waiting is not None
    assert waiting.message == 'Back-off pulling image "registry/web:1": ErrImagePull: no such image'


def test_a_crash_is_restarted_at_once_and_then_with_backoff() -> None:
    play = Play(pod_of("web"), script(Crash(exit_code=3, after=1.0))).until(0.5)
    assert (play.reason("web"), play.status.containerStatuses[0].restartCount) == ("ready", 0)
    play.until(1.5)
    assert (play.reason("web"), play.status.containerStatuses[0].restartCount) == ("ready", 1)
    play.until(2.5)
    status = play.status.containerStatuses[0]
    assert (play.status.phase, play.reason("web"), status.restartCount) == ("Running", "CrashLoopBackOff", 1)
    assert status.state.waiting is not None
    assert status.state.waiting.message == "back-off 10s restarting failed container=web pod=web-1_here(u-1)"
    ended = status.lastState.terminated
    assert ended is not None
    assert (ended.exitCode, ended.reason, ended.finishedAt) == (3, "Error", "2026-11-15T10:00:02Z")
    assert "BackOff" in play.reasons_told
    play.until(12.5)
    assert (play.reason("web"), play.status.containerStatuses[0].restartCount) == ("ready", 2)
    play.until(14.0)
    waiting = play.status.containerStatuses[0].state.waiting
    assert waiting is not None
    assert waiting.message.startswith("back-off 20s ")


def test_an_immediate_crash_costs_one_write() -> None:
    play = Play(pod_of("web"), script(Crash()))
    assert (play.reason("web"), play.status.containerStatuses[0].restartCount) == ("CrashLoopBackOff", 1)
    assert play.writes == 1


def test_a_crash_may_be_of_some_times_only() -> None:
    play = Play(pod_of("web"), script(Crash(times=2, backoff=1.0), ready_after=0.0)).until(0.5)
    assert play.reason("web") == "CrashLoopBackOff"
    play.until(2.0)
    assert (play.reason("web"), play.status.containerStatuses[0].restartCount) == ("ready", 2)


@pytest.mark.parametrize(
    ("crashes", "phase"),
    [
        pytest.param(0, "Failed", id="the-first-pod-fails"),
        pytest.param(1, "Failed", id="and-its-replacement"),
        pytest.param(2, "Succeeded", id="and-the-third-succeeds"),
    ],
)
def test_crashes_of_pods_that_are_replaced_are_counted_together(crashes: int, phase: str) -> None:
    play = Play(pod_of("sync", restartPolicy="Never"), script(Crash(times=2)), crashes=crashes).until(1.0)
    assert play.status.phase == phase


def test_a_crashed_pod_that_is_never_restarted_has_failed() -> None:
    play = Play(pod_of("sync", restartPolicy="Never"), script(Crash(exit_code=2)))
    assert (play.status.phase, play.reason("sync")) == ("Failed", "Error 2")
    assert play.condition("Ready") == ("False", "PodFailed")
    assert play.plan.waits == ()


def test_a_crashing_init_container_holds_back_the_pod() -> None:
    only_first = Script((Behaviour(Selector(container="first"), fault=Crash()),))
    play = Play(pod_of("web", inits=({"name": "first"},)), only_first)
    assert [play.reason(name) for name in ("first", "web")] == ["CrashLoopBackOff", "PodInitializing"]
    assert play.status.phase == "Pending"
    never = Play(pod_of("web", inits=({"name": "first"},), restartPolicy="Never"), only_first)
    assert [never.reason(name) for name in ("first", "web")] == ["Error 1", "PodInitializing"]
    assert never.status.phase == "Failed"


def test_a_fault_of_a_pod_is_not_meant_for_its_init_containers() -> None:
    play = Play(pod_of("web", inits=({"name": "first"},)), script(Crash()))
    assert [play.reason(name) for name in ("first", "web")] == ["Completed 0", "CrashLoopBackOff"]


def test_a_failing_readiness_probe_leaves_the_container_running() -> None:
    play = Play(pod_of("web"), script(ProbeFailing()))
    assert (play.status.phase, play.reason("web")) == ("Running", "running")
    assert play.status.containerStatuses[0].started
    play.until(25.0)
    unhealthy = [event.note for event in play.told if event.reason == "Unhealthy"]
    assert unhealthy == ["Readiness probe failed: HTTP probe failed with statuscode: 503"] * 3
    assert play.status.containerStatuses[0].restartCount == 0


def test_a_failing_liveness_probe_has_the_container_killed() -> None:
    play = Play(pod_of("web"), script(ProbeFailing(probe="liveness", after=1.0))).until(1.5)
    status = play.status.containerStatuses[0]
    assert status.restartCount == 1
    assert status.lastState.terminated is not None
    assert status.lastState.terminated.exitCode == 137
    killed = [event.note for event in play.told if event.reason == "Killing"]
    assert killed == ["Container web failed liveness probe, will be restarted"]


@pytest.mark.parametrize(
    ("fault", "before"),
    [
        pytest.param(ImageMissing(), "ImagePullBackOff", id="an-image-that-arrived"),
        pytest.param(Crash(), "CrashLoopBackOff", id="a-crash-that-was-repaired"),
        pytest.param(ProbeFailing(), "running", id="a-probe-that-succeeds-again"),
        pytest.param(ProbeFailing(probe="liveness"), "CrashLoopBackOff", id="a-container-that-lives-again"),
    ],
)
def test_a_healed_fault_lets_the_pod_recover_at_once(fault: Fault, before: str) -> None:
    play = Play(pod_of("web"), script(fault)).until(5.0)
    assert play.reason("web") == before
    play.perform(script(ready_after=0.0))
    assert (play.status.phase, play.reason("web"), play.condition("Ready")) == ("Running", "ready", ("True", ""))


@pytest.mark.parametrize(
    ("fault", "after"),
    [
        pytest.param(Crash(), "CrashLoopBackOff", id="a-crash"),
        pytest.param(ProbeFailing(), "running", id="a-failing-probe"),
        pytest.param(ImageMissing(), "ready", id="a-missing-image-does-not-matter-any-more"),
    ],
)
def test_a_fault_may_come_over_a_running_pod(fault: Fault, after: str) -> None:
    play = Play(pod_of("web")).until(5.0)
    assert play.reason("web") == "ready"
    play.perform(script(fault))
    assert play.reason("web") == after


# What a pod needs.


def inputs(*, secrets: dict[str, set[str]] | None = None, config_maps: dict[str, set[str]] | None = None) -> Inputs:
    def keys(of: dict[str, set[str]] | None, name: str) -> frozenset[str] | None:
        return frozenset(of[name]) if of is not None and name in of else None

    return Inputs(config_maps=lambda name: keys(config_maps, name), secrets=lambda name: keys(secrets, name))


def test_a_pod_waits_for_a_secret_that_it_mounts() -> None:
    play = Play(pod_of("web", volumes=[{"name": "keys", "secret": {"secretName": "fernet"}}])).until(15.0)
    assert (play.status.phase, play.reason("web")) == ("Pending", "ContainerCreating")
    mounts = [event.note for event in play.told if event.reason == "FailedMount"]
    assert mounts == ['MountVolume.SetUp failed for volume "keys" : secret "fernet" not found'] * 2
    play.provide(inputs(secrets={"fernet": {"0"}}))
    play.until(16.0)
    assert play.reason("web") == "ready"
    play.provide(inputs())
    play.until(17.0)
    assert play.reason("web") == "ready", "what is mounted stays mounted"


def test_a_container_waits_for_a_variable_that_it_needs() -> None:
    env = [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]
    play = Play(pod_of(containers=[{"name": "web", "image": "w", "env": env}]), inputs=inputs(secrets={"db": {"user"}}))
    status = play.status.containerStatuses[0].state.waiting
    assert status is not None
    assert status.reason == "CreateContainerConfigError"
    assert status.message == "couldn't find key password in Secret here/db"
    assert [(event.reason, event.note) for event in play.told] == [
        ("Failed", "Error: couldn't find key password in Secret here/db")
    ]
    play.provide(inputs(secrets={"db": {"user", "password"}}))
    play.until(1.0)
    assert play.reason("web") == "ready"
    assert play.status.containerStatuses[0].restartCount == 0


def test_a_readiness_gate_is_waited_for_and_kept() -> None:
    pod = pod_of("web", readinessGates=[{"conditionType": "example.org/open"}])
    play = Play(pod, script(ready_after=0.0))
    assert play.condition("ContainersReady") == ("True", "")
    assert play.condition("Ready") == ("False", "ReadinessGatesNotReady")
    gate = PodCondition(type="example.org/open", status="True")
    status = structs.replace(play.status, conditions=(*play.status.conditions, gate))
    play.pod = structs.replace(play.pod, status=status)
    play.look()
    assert play.condition("Ready") == ("True", "")
    assert play.condition("example.org/open") == ("True", "")


# The end.


def test_a_deleted_pod_ends_then_goes() -> None:
    play = Play(pod_of("web"), script(stop_after=2.0)).until(5.0)
    play.delete()
    assert not play.removed
    assert play.told[-1].note == "Stopping container web"
    play.until(6.9)
    assert (play.status.phase, play.removed) == ("Running", False)
    play.until(7.0)
    assert (play.status.phase, play.reason("web"), play.removed) == ("Failed", "Error 143", True)
    assert play.reasons_told.count("Killing") == 1


def test_a_pod_that_does_not_stop_in_time_is_killed() -> None:
    play = Play(pod_of("web"), script(stop_after=100.0)).until(5.0)
    play.delete(grace=3)
    play.until(8.0)
    assert (play.reason("web"), play.removed) == ("Error 137", True)


def test_a_pod_that_never_started_can_be_deleted() -> None:
    play = Play(pod_of("web", inits=({"name": "first"},)), script(init_for=100.0))
    play.delete()
    assert (play.reason("web"), play.removed) == ("ContainerStatusUnknown 137", True)


def test_a_pod_whose_end_was_confirmed_is_left_to_its_finalizers() -> None:
    play = Play(pod_of("web")).until(5.0)
    play.delete(grace=0)
    assert (play.status.phase, play.removed) == ("Failed", False)


def test_a_pod_of_another_node_is_left_alone() -> None:
    play = Play(pod_of("web", nodeName="worker-7"))
    assert (play.plan.steps, play.writes) == ((), 0)


def test_the_times_of_conditions_move_only_with_their_state() -> None:
    play = Play(pod_of("web"), script(ready_after=3.0)).until(10.0)
    since = {one.type: one.lastTransitionTime for one in play.status.conditions}
    assert since["Initialized"] == "2026-11-15T10:00:00Z"
    assert since["Ready"] == "2026-11-15T10:00:03Z"


def test_an_annotation_of_the_owner_asks_for_a_fault() -> None:
    annotations = {"simulator.stackwright.org/fault": "Crash", "simulator.stackwright.org/exit-code": "7"}
    owner = Owner(metadata=PodMetadata(name="web", annotations=annotations))
    play = Play(pod_of("web"), owners=(owner,))
    ended = play.status.containerStatuses[0].lastState.terminated
    assert ended is not None
    assert ended.exitCode == 7


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "200ms"), (10.0, "10s"), (80.0, "1m20s"), (300.0, "5m0s"), (1.5, "1.5s")]
)
def test_durations_are_written_as_kubernetes_does(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_pod_of_a_lost_node_is_not_ready_and_does_not_end_until_its_node_is_back() -> None:
    play = Play(pod_of("web"), script(ready_after=0.0))
    play.move(replace(HOST, ready=False))
    assert play.condition("Ready")[0] == "False"
    # What runs there runs on; nobody hears of it.
    assert (play.status.phase, play.reason("web"), play.reasons_told[-1]) == ("Running", "ready", "NodeNotReady")
    play.delete()
    play.until(60.0)
    assert not play.removed
    play.move(HOST)
    assert play.removed


def test_a_pod_whose_node_comes_back_is_ready_again() -> None:
    play = Play(pod_of("web"), script(ready_after=0.0))
    play.move(replace(HOST, ready=False))
    play.move(HOST)
    assert play.condition("Ready")[0] == "True"


def test_a_pod_of_no_node_of_ours_is_left_alone() -> None:
    play = Play(pod_of("web"), host=Host("", ""))
    assert (play.writes, play.plan.steps) == (0, ())
