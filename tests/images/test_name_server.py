"""The name server of the image that was built: it serves what the operator writes, and learns of changes as it runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stackwright.api.network import DNSHost
from stackwright.blueprint import configuration
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.resource import ObjectMeta
from stackwright.services.dnsmasq import service
from stackwright.services.dnsmasq.kinds import DNSMasq, DNSMasqOption, DNSMasqSpec
from stackwright.services.dnsmasq.service import DNSMasqFacts, Names
from tests.images.built import Answer, Built, container, why_not_built
from tests.images.resolver import AAAA, NO_SUCH_NAME, PTR, REFUSED, A, Reply, ask, reverse
from tests.ports import free_port

# Ends the server as Kubernetes does, when the test is done with it.
SCRIPT = """\
kolla_start & server=$!
while [ ! -e /tmp/done ] && kill -0 $server 2> /dev/null; do sleep 0.1; done
kill -TERM $server
wait $server; echo "ended with $?"
"""
STRATEGY = {"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"}
OPTIONS = (
    DNSMasqOption(key="host-record", values=("gate.example.com", "192.0.2.1")),
    DNSMasqOption(key="no-negcache"),
)
COMPUTE = DNSHost(
    ip="192.0.2.10", hostnames=("compute-0.example.com", "compute-0.ctlplane.example.com", "compute-0.example.com")
)
STORAGE = DNSHost(ip="2001:db8::11", hostnames=("storage.example.com.",))


@pytest.fixture(scope="module")
def image() -> Iterator[Built]:
    if reason := why_not_built(["dnsmasq"]):
        pytest.skip(reason)
    with container("dnsmasq") as made:
        yield made


class Pod:
    """The files of a pod: the configuration, and a mounted ConfigMap that is exchanged as Kubernetes does it."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.port = root, port
        self.resource = DNSMasq(metadata=ObjectMeta(name="dns", namespace="cloud"), spec=DNSMasqSpec(options=OPTIONS))
        self.hosts = root / service.HOSTS[1:]
        self.hosts.mkdir(parents=True, exist_ok=True)
        self.versions = 0

    def configure(self) -> None:
        """Write what the operator writes, for a port that is free on this machine, on which nobody else can ask."""
        folder = self.root / "var/lib/openstack/config"
        folder.mkdir(parents=True, exist_ok=True)
        facts = DNSMasqFacts(name="dns", namespace="cloud", image="i")
        for name, text in configuration.secret_data(service.SERVICE, self.resource, facts).items():
            here = text.replace(
                f"port={service.PORT}\n", f"port={self.port}\nlisten-address=127.0.0.1\nbind-interfaces\n"
            )
            (folder / name).write_text(here)
        contract = self.root / "var/lib/kolla/config_files/config.json"
        contract.write_text((folder / "server.json").read_text())

    def name(self, **named: tuple[DNSHost, ...]) -> None:
        """Mount names, and all others are gone."""
        found = {name: Names("dnsdata", hosts) for name, hosts in named.items()}
        facts = DNSMasqFacts(name="dns", namespace="cloud", image="i", names=found)
        (config_map,) = service.resources(self.resource, facts)
        assert isinstance(config_map, ConfigMap)
        self.versions += 1
        version = self.hosts / f"..version-{self.versions}"
        version.mkdir()
        for key, text in config_map.data.items():
            (version / key).write_text(text)
            if not (self.hosts / key).is_symlink():
                (self.hosts / key).symlink_to(f"..data/{key}")
        (self.hosts / "..data_tmp").symlink_to(version.name)
        (self.hosts / "..data_tmp").rename(self.hosts / "..data")

    def ask(self, name: str, kind: int = A, *, tcp: bool = False) -> Reply:
        return ask("127.0.0.1", self.port, name, kind, tcp=tcp)

    @contextmanager
    def served(self, image: Built) -> Iterator[list[Answer]]:
        """Run the server for the time of a block; what it said is known after that."""
        said: list[Answer] = []
        done = self.root / "tmp/done"
        done.unlink(missing_ok=True)
        thread = threading.Thread(target=lambda: said.append(image.run(SCRIPT, environment=STRATEGY)))
        thread.start()
        try:
            until(lambda: said or self._answers(), said)
            yield said
        finally:
            done.touch()
            thread.join(timeout=60)

    def _answers(self) -> bool:
        try:
            return self.ask("gate.example.com", tcp=True).code == 0
        except OSError:
            return False


def until(holds: Callable[[], object], said: object = "", seconds: float = 30) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, said
        time.sleep(0.1)


def test_names_are_served_by_udp_and_tcp_and_changed_without_a_restart(image: Built) -> None:
    pod = Pod(image.root, free_port())
    pod.configure()
    pod.name(compute=(COMPUTE,), storage=(STORAGE, DNSHost(ip="no address", hostnames=("nobody.example.com",))))
    with pod.served(image) as said:
        for tcp in (False, True):
            assert pod.ask("compute-0.example.com", tcp=tcp) == Reply(0, ("192.0.2.10",)), said
            assert pod.ask("compute-0.ctlplane.example.com", tcp=tcp) == Reply(0, ("192.0.2.10",))
            assert pod.ask("storage.example.com", AAAA, tcp=tcp) == Reply(0, ("2001:db8::11",))
            assert pod.ask(reverse("192.0.2.10"), PTR, tcp=tcp) == Reply(0, ("compute-0.example.com",))
        # An option of the user's, a Service that is not there, and what only others could know: there are none.
        assert pod.ask("gate.example.com") == Reply(0, ("192.0.2.1",))
        assert pod.ask("keystone-internal.cloud.svc").code == NO_SUCH_NAME
        assert pod.ask("new.example.com").code == REFUSED
        pod.name(compute=(COMPUTE,), new=(DNSHost(ip="192.0.2.12", hostnames=("new.example.com",)),))
        until(lambda: pod.ask("new.example.com") == Reply(0, ("192.0.2.12",)))
        assert pod.ask("storage.example.com", AAAA).found == ()
        assert pod.ask("compute-0.example.com", tcp=True) == Reply(0, ("192.0.2.10",))
    (answer,) = said
    assert answer.output.count("started, version") == 1, answer.output
    assert "ended with 0" in answer.output, answer.output
