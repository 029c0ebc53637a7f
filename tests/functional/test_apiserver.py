"""The API server of the tests: it is real, it can be restarted, and nothing of it is left when a run is killed."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackwright.kube.builtin import ConfigMap, Deployment, Pod, Secret
from stackwright.kube.client import Client
from stackwright.kube.errors import NotFound, Unreachable
from stackwright.kube.resource import owner_reference
from stackwright.local.apiserver.layout import Layout
from stackwright.local.apiserver.server import ApiServer, Options, Shared
from stackwright.local.errors import ApiServerFailed
from stackwright.local.process import wait_gone
from stackwright.local.programs import API_SERVER
from stackwright.local.versions import pinned
from tests.ports import free_port

PATIENCE = 120.0


def config_map(name: str, namespace: str, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, **metadata}}


def gone(pids: list[int]) -> list[int]:
    """Return those of the processes that are still there after a while; that should be none."""
    return [pid for pid in pids if not wait_gone(pid, timeout=PATIENCE)]


class TestTheSharedServer:
    async def test_it_is_the_pinned_version(self, client: Client) -> None:
        assert (await client.server_version()).text == pinned().kubernetes

    async def test_its_controllers_run_and_make_pods(self, client: Client, namespace: str) -> None:
        labels = {"app": "idle"}
        container = {"name": "idle", "image": "example.invalid/idle"}
        spec = {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        }
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "idle", "namespace": namespace}}
        await client.apply(Deployment, body | {"spec": spec})
        names: set[str] = set()
        async with asyncio.timeout(PATIENCE):
            events = client.watch(Pod, namespace, labels="app=idle", initial=True)
            async with contextlib.aclosing(events):
                async for event in events:
                    if event.type == "ADDED":
                        names.add(event.object.metadata.name)
                    if len(names) == 2:
                        break
        assert len(names) == 2

    async def test_what_an_owner_leaves_behind_is_collected(self, client: Client, namespace: str) -> None:
        owner = await client.create(ConfigMap, config_map("owner", namespace))
        reference = owner_reference(owner)
        await client.create(ConfigMap, config_map("owned", namespace, ownerReferences=[reference]))
        await client.delete(ConfigMap, "owner", namespace)
        async with asyncio.timeout(PATIENCE):
            events = client.watch(ConfigMap, namespace, fields="metadata.name=owned", initial=True)
            async with contextlib.aclosing(events):
                there = False
                async for event in events:
                    there = event.type in ("ADDED", "MODIFIED") or (there and event.type == "BOOKMARK")
                    # It may have gone before the watch began; then the list of what is there ends without it.
                    if not there and (event.type == "DELETED" or event.initial_events_end):
                        break
        assert await client.find(ConfigMap, "owned", namespace) is None

    def test_nobody_has_rights_that_were_not_given(self, apiserver: Shared, kubernetes: dict[str, Path]) -> None:
        command = [
            str(kubernetes["kubectl"]),
            f"--kubeconfig={apiserver.kubeconfig}",
            "auth",
            "can-i",
            "get",
            "secrets",
        ]
        assert subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() == "yes"
        stranger = subprocess.run([*command, "--as=stranger"], capture_output=True, text=True, check=False)
        assert stranger.stdout.strip() == "no"

    def test_keys_are_for_their_owner_alone(self, apiserver: Shared) -> None:
        folder = apiserver.layout.directory
        private = [apiserver.kubeconfig, *folder.rglob("*.key"), *folder.glob("*.kubeconfig")]
        assert len(private) > 5
        assert {oct(path.stat().st_mode & 0o777) for path in private} == {"0o600"}
        assert folder.stat().st_mode & 0o077 == 0

    def test_it_listens_on_loopback_alone(self, apiserver: Shared) -> None:
        ours = {f"socket:[{inode}]" for pid in apiserver.pids.values() for inode in sockets_of(pid)}
        table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = {row[1].partition(":")[0] for row in table if row[3] == "0A" and f"socket:[{row[9]}]" in ours}
        assert listening == {"0100007F"}
        six = [line.split() for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]]
        assert not [row for row in six if row[3] == "0A" and f"socket:[{row[9]}]" in ours]


def sockets_of(pid: int) -> Iterator[str]:
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith("socket:["):
                yield target.removeprefix("socket:[").removesuffix("]")


class TestAServerOfOnesOwn:
    async def test_its_programs_can_be_killed_and_started_again(
        self, private_apiserver: ApiServer, private_client: Client, private_namespace: str
    ) -> None:
        server, client = private_apiserver, private_client
        await client.create(ConfigMap, config_map("kept", private_namespace))
        before = server.pids
        await asyncio.to_thread(server.kill, "kube-apiserver")
        assert "kube-apiserver" not in server.pids
        with pytest.raises(Unreachable):
            await client.get(ConfigMap, "kept", private_namespace)
        await asyncio.to_thread(server.start, "kube-apiserver")
        assert server.pids["kube-apiserver"] != before["kube-apiserver"]
        assert server.pids["etcd"] == before["etcd"]
        assert (await client.get(ConfigMap, "kept", private_namespace)).metadata.name == "kept"

        # etcd without fsync survives a crash of its own; only the machine's would cost data.
        await asyncio.to_thread(server.kill, "etcd")
        await asyncio.to_thread(server.start, "etcd")
        assert (await client.get(ConfigMap, "kept", private_namespace)).metadata.name == "kept"

        await asyncio.to_thread(server.pause, "kube-apiserver")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.get(ConfigMap, "kept", private_namespace), 0.5)
        await asyncio.to_thread(server.resume, "kube-apiserver")
        assert (await client.get(ConfigMap, "kept", private_namespace)).metadata.name == "kept"

        await asyncio.to_thread(server.stop, "kube-controller-manager")
        assert set(server.pids) == {"etcd", "kube-apiserver"}
        with pytest.raises(ApiServerFailed, match="no program of this server: kubelet"):
            await asyncio.to_thread(server.kill, "kubelet")

    async def test_it_writes_down_every_request(
        self, private_apiserver: ApiServer, private_client: Client, private_namespace: str
    ) -> None:
        with pytest.raises(NotFound):
            await private_client.get(Secret, "looked-for", private_namespace)
        lines = private_apiserver.audit_log.read_text().splitlines()
        requests = [json.loads(line) for line in lines if "looked-for" in line]
        assert [(one["verb"], one["user"]["username"], one["responseStatus"]["code"]) for one in requests] == [
            ("get", "admin", 404)
        ]

    def test_two_do_not_meet(self, private_apiserver: ApiServer, kubernetes: dict[str, Path], tmp_path: Path) -> None:
        one = private_apiserver
        with ApiServer(tmp_path / "two", kubernetes) as two:
            assert one.url != two.url
            there, pids = [*one.pids.values(), one.supervisor], [*two.pids.values(), two.supervisor]
            assert len({*there, *pids}) == 8
        assert gone(pids) == []
        assert not Layout(tmp_path / "two").data.exists()
        # The end of one is not the end of the other.
        assert [pid for pid in there if wait_gone(pid, timeout=0)] == []

    def test_a_program_that_dies_at_its_start_is_quoted(self, kubernetes: dict[str, Path], tmp_path: Path) -> None:
        options = Options(flags={"kube-apiserver": ["--no-such-flag"]})
        with pytest.raises(
            ApiServerFailed, match=r"(?s)kube-apiserver ended with 1.*unknown flag: --no-such-flag"
        ) as error:
            ApiServer(tmp_path, kubernetes, options).__enter__()
        assert str(Layout(tmp_path).log("kube-apiserver")) in str(error.value)

    def test_a_program_that_is_not_ready_in_time_is_quoted(self, kubernetes: dict[str, Path], tmp_path: Path) -> None:
        # It listens elsewhere than where it is asked how it is.
        flags = {"etcd": [f"--listen-client-urls=https://127.0.0.1:{free_port()}"]}
        with pytest.raises(ApiServerFailed, match="etcd was not ready within 1 s"):
            ApiServer(tmp_path, kubernetes, Options(flags=flags, deadline=1)).__enter__()

    def test_a_program_that_cannot_run_is_named(self, kubernetes: dict[str, Path], tmp_path: Path) -> None:
        with pytest.raises(ApiServerFailed, match=r"etcd cannot be started: .*nowhere"):
            ApiServer(tmp_path, kubernetes | {"etcd": Path("/nowhere/etcd")}).__enter__()

    def test_a_program_that_was_not_given_is_named(self, kubernetes: dict[str, Path], tmp_path: Path) -> None:
        given = {"etcd": kubernetes["etcd"], "kube-apiserver": kubernetes["kube-apiserver"]}
        with pytest.raises(ApiServerFailed, match="needs kube-controller-manager too"):
            ApiServer(tmp_path, given).__enter__()


HOLDS_A_SERVER = """
    import sys, threading
    from pathlib import Path
    from stackwright.local import binaries
    from stackwright.local.apiserver.server import ApiServer
    from stackwright.local.programs import API_SERVER
    with ApiServer(Path(sys.argv[1]), binaries.ensure(API_SERVER)) as server:
        print(server.supervisor, *server.pids.values(), flush=True)
        threading.Event().wait()
"""
SHARES_A_SERVER = """
    import sys
    from pathlib import Path
    from stackwright.local import binaries
    from stackwright.local.apiserver.server import shared
    from stackwright.local.programs import API_SERVER
    server = shared(Path(sys.argv[1]), binaries.ensure(API_SERVER), master=int(sys.argv[2]))
    print(server.supervisor, *server.pids.values(), flush=True)
"""


@contextlib.contextmanager
def program(code: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def pids_from(process: "subprocess.Popen[str]") -> list[int]:
    assert process.stdout is not None
    return [int(word) for word in process.stdout.readline().split()]


@pytest.fixture
def master() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that stands for a test run."""
    with subprocess.Popen(["sleep", "infinity"]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.usefixtures("kubernetes")
class TestTheEnd:
    def test_a_killed_run_leaves_no_process(self, tmp_path: Path) -> None:
        with program(HOLDS_A_SERVER, str(tmp_path)) as run:
            pids = pids_from(run)
            assert len(pids) == 1 + len(API_SERVER)
            run.send_signal(signal.SIGKILL)
            assert gone(pids) == []

    def test_a_killed_supervisor_leaves_no_process(self, tmp_path: Path) -> None:
        with program(HOLDS_A_SERVER, str(tmp_path)) as run:
            supervisor, *programs = pids_from(run)
            os.kill(supervisor, signal.SIGKILL)
            assert gone(programs) == []

    async def test_who_asks_at_the_same_time_gets_the_same_server(
        self, tmp_path: Path, master: "subprocess.Popen[bytes]"
    ) -> None:
        with (
            program(SHARES_A_SERVER, str(tmp_path), str(master.pid)) as one,
            program(SHARES_A_SERVER, str(tmp_path), str(master.pid)) as two,
        ):
            pids = pids_from(one)
            assert pids_from(two) == pids
            assert len(pids) == 1 + len(API_SERVER)
            # Both who asked have ended; the server goes on for the others of the run.
            assert (one.wait(), two.wait()) == (0, 0)
        assert [pid for pid in pids if wait_gone(pid, timeout=0)] == []
        # A death is told to all who share.
        server = Shared(Layout(tmp_path))
        os.kill(server.pids["kube-controller-manager"], signal.SIGKILL)
        await noted(server, "kube-controller-manager was killed by SIGKILL")
        master.kill()
        assert gone(pids) == []


async def noted(server: Shared, words: str) -> None:
    """Wait until the supervisor has written down a death; it does so within moments."""
    async with asyncio.timeout(PATIENCE):
        while not (state := server.layout.read_state()) or not state.failure:
            await asyncio.sleep(0.01)
    with pytest.raises(ApiServerFailed, match=words):
        server.check()


RING = """
    import os
    from pathlib import Path
    import threading

    def report(server, name):
        Path(os.environ["REPORTS"], name).write_text(" ".join(map(str, [server.supervisor, *server.pids.values()])))

    def test_one(apiserver):
        report(apiserver, "one")
        threading.Event().wait()

    def test_two(apiserver):
        report(apiserver, "two")
        threading.Event().wait()
"""


@pytest.mark.usefixtures("kubernetes")
def test_the_workers_of_a_run_share_a_server_that_dies_with_it(tmp_path: Path) -> None:
    ring, reports = tmp_path / "ring", tmp_path / "reports"
    ring.mkdir()
    reports.mkdir()
    (ring / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (ring / "test_ring.py").write_text(textwrap.dedent(RING))
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", f"--basetemp={tmp_path}/base"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # The fixtures of this ring are found from the root of the checkout.
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    with subprocess.Popen(
        [*command, "-o", "asyncio_mode=auto", "."], cwd=ring, env=environment | {"REPORTS": str(reports)}
    ) as run:
        try:
            asyncio.run(_both(reports))
        finally:
            run.kill()
    one, two = (reports / name for name in ("one", "two"))
    assert one.read_text() == two.read_text()
    pids = [int(word) for word in one.read_text().split()]
    assert len(pids) == 1 + len(API_SERVER)
    assert gone(pids) == []


async def _both(reports: Path) -> None:
    """Wait until both tests of the inner run have said who serves them."""
    async with asyncio.timeout(2 * PATIENCE):
        while not all((reports / name).exists() and (reports / name).read_text() for name in ("one", "two")):
            await asyncio.sleep(0.05)
