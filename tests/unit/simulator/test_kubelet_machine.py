"""Whatever happens to a pod, and whenever, what the kubelet reports of it never contradicts itself."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stackwright.simulator.behaviour import Behaviour, Crash, ImageMissing, ProbeFailing, Script, Selector
from stackwright.simulator.objects import PodStatus
from tests.unit.simulator.play import Play, pod_of

times = st.sampled_from([0.0, 0.1, 1.0, 7.0])
faults = st.sampled_from(
    [
        None,
        ImageMissing(),
        ImageMissing(backoff=0.5),
        Crash(),
        Crash(after=1.0, times=2),
        Crash(exit_code=9, backoff=0.2),
        ProbeFailing(),
        ProbeFailing(probe="liveness", after=0.3),
    ]
)
matches = st.sampled_from(
    [Selector(), Selector(container="web"), Selector(container="first"), Selector(container="proxy")]
)
behaviours = st.builds(
    Behaviour,
    match=matches,
    fault=faults,
    start_after=times,
    init_for=times,
    ready_after=times,
    runs_for=st.one_of(st.none(), times),
    stop_after=times,
)
scripts = st.lists(behaviours, max_size=3).map(lambda found: Script(tuple(found)))


class KubeletMachine(RuleBasedStateMachine):
    """A pod with an init container, a sidecar and two others, under a script that changes."""

    def __init__(self) -> None:
        super().__init__()
        self.play: Play | None = None
        self.before = PodStatus()

    @precondition(lambda self: self.play is None)
    @rule(script=scripts, policy=st.sampled_from(["Always", "OnFailure", "Never"]))
    def begin(self, script: Script, policy: str) -> None:
        inits = ({"name": "proxy", "restartPolicy": "Always"}, {"name": "first"})
        self.play = Play(pod_of("web", "log", inits=inits, restartPolicy=policy), script)

    @precondition(lambda self: self.play is not None)
    @rule(script=scripts)
    def change_the_script(self, script: Script) -> None:
        assert self.play is not None
        self.play.perform(script)

    @precondition(lambda self: self.play is not None)
    @rule(seconds=st.sampled_from([0.05, 0.1, 1.0, 30.0]))
    def let_time_pass(self, seconds: float) -> None:
        assert self.play is not None
        self.play.until(self.play.time + seconds)

    @precondition(lambda self: self.play is not None and not self.play.pod.deleting)
    @rule(grace=st.sampled_from([0, 1, 30]))
    def delete(self, grace: int) -> None:
        assert self.play is not None
        self.play.delete(grace)

    @precondition(lambda self: self.play is not None and self.play.pod.deleting)
    @rule()
    def wait_for_the_end(self) -> None:
        assert self.play is not None
        self.play.until(self.play.time + 31.0)
        assert self.play.pod.finished
        assert self.play.removed or self.play.pod.metadata.deletionGracePeriodSeconds == 0

    @invariant()
    def the_story_is_consistent(self) -> None:
        if self.play is None:
            return
        before, now = self.before, self.play.status
        if before.phase in {"Succeeded", "Failed"}:
            assert now == before, "what has ended has ended"
        for status in (*now.initContainerStatuses, *now.containerStatuses):
            earlier = before.container(status.name)
            assert (
                sum(one is not None for one in (status.state.waiting, status.state.running, status.state.terminated))
                == 1
            )
            assert earlier is None or status.restartCount >= earlier.restartCount
            assert (status.restartCount > 0) <= (status.lastState.terminated is not None)
            assert not status.ready or status.state.running or status.state.terminated
        ready = now.condition("Ready")
        assert ready is not None
        if ready.status == "True":
            assert now.phase == "Running"
            assert all(status.ready for status in now.containerStatuses)
        if now.phase in {"Succeeded", "Failed"}:
            assert not any(s.state.running for s in (*now.initContainerStatuses, *now.containerStatuses))
        self.before = now


KubeletMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=15)
TestKubelet = KubeletMachine.TestCase
