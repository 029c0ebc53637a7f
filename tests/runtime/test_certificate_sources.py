"""Certificates in a Secret that several replicas share."""

import asyncio
import base64
import errno
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from stackwright.kube.admission.certificate_sources import SecretCertificates, SecretSettings
from stackwright.kube.admission.certificates import Lifetimes
from stackwright.kube.builtin import Secret
from stackwright.kube.client import Client
from stackwright.kube.clock import Clock
from stackwright.kube.errors import Unreachable
from tests.runtime.fault_server import Answer, FaultServer, Reset

LIFETIMES = Lifetimes(authority=timedelta(days=300), serving=timedelta(days=30), settle=timedelta(hours=1))
SETTINGS = SecretSettings("hooks", "system", ("hooks.system.svc",), LIFETIMES)
DAY = timedelta(days=1)


class Replica:
    """One process that keeps the certificates, and what it served and published."""

    moment = datetime(2026, 1, 1, tzinfo=UTC)

    def __init__(self, client: Client) -> None:
        self.served: list[bytes] = []
        self.published: list[bytes] = []
        self.unable = False
        self.full = 0
        self.changed = asyncio.Event()
        clock = Clock(now=lambda: self.moment, sleep=self._sleep)
        self.source = SecretCertificates(client, SETTINGS, use=self._use, publish=self._publish, clock=clock)

    def _use(self, certificate: bytes, _key: bytes) -> None:
        if self.full:
            self.full -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        self.served.append(certificate)
        self.changed.set()

    async def _publish(self, bundle: bytes) -> None:
        if self.unable:
            raise Unreachable("no answer")
        self.published.append(bundle)

    async def _sleep(self, _seconds: float) -> None:
        await asyncio.sleep(0)

    def authorities(self) -> int:
        return len(x509.load_pem_x509_certificates(self.published[-1]))


@pytest.fixture
async def replica(client: Client) -> Replica:
    return Replica(client)


async def test_the_secret_is_made_served_and_published(server: FaultServer, replica: Replica) -> None:
    wait = await replica.source.refresh()
    secret = server.object(Secret, "hooks", "system")
    assert secret is not None
    assert secret["type"] == "kubernetes.io/tls"
    assert base64.b64decode(secret["data"]["tls.crt"]) == replica.served[-1]
    assert base64.b64decode(secret["data"]["ca.crt"]) == replica.published[-1]
    assert 0 < wait <= 3600


async def test_what_is_there_is_taken(server: FaultServer, client: Client) -> None:
    one, two = Replica(client), Replica(client)
    await one.source.refresh()
    await two.source.refresh()
    assert two.served == one.served
    assert two.published == one.published
    assert len(server.seen("create")) == 1
    assert not server.seen("patch")


async def test_replicas_that_start_at_once_agree(client: Client) -> None:
    replicas = [Replica(client) for _ in range(5)]
    await asyncio.gather(*(replica.source.refresh() for replica in replicas))
    assert len({replica.served[-1] for replica in replicas}) == 1
    assert len({replica.published[-1] for replica in replicas}) == 1


async def test_replicas_that_rotate_at_once_agree(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    replicas = [Replica(client) for _ in range(5)]
    await asyncio.gather(*(replica.source.refresh() for replica in replicas))
    for days in (21, 201, 202, 301):
        monkeypatch.setattr(Replica, "moment", datetime(2026, 1, 1, tzinfo=UTC) + days * DAY)
        await asyncio.gather(*(replica.source.refresh() for replica in replicas))
        assert len({replica.served[-1] for replica in replicas}) == 1
        assert len({replica.published[-1] for replica in replicas}) == 1


async def test_the_bundle_is_published_before_anything_is_signed_by_a_new_authority(replica: Replica) -> None:
    await replica.source.refresh()
    replica.moment += 21 * DAY
    await replica.source.refresh()
    replica.moment += 180 * DAY
    replica.unable = True
    with pytest.raises(Unreachable):
        await replica.source.refresh()
    replica.moment += 2 * timedelta(hours=1)
    with pytest.raises(Unreachable):
        await replica.source.refresh()
    staged = replica.served[-1]
    replica.unable = False
    await replica.source.refresh()
    assert replica.authorities() == 2
    # Now that it is published, what waited for that is done in the same call.
    assert replica.served[-1] != staged


async def test_a_broken_secret_is_filled_anew(server: FaultServer, replica: Replica) -> None:
    body = {"metadata": {"name": "hooks", "namespace": "system"}, "data": {"tls.crt": "bm9uc2Vuc2U=", "x": "%%"}}
    server.put(Secret, body)
    await replica.source.refresh()
    secret = server.object(Secret, "hooks", "system")
    assert secret is not None
    assert base64.b64decode(secret["data"]["tls.crt"]) == replica.served[-1]
    assert "x" in secret["data"]


async def test_a_change_by_another_replica_is_served_at_once(server: FaultServer, client: Client) -> None:
    one, two = Replica(client), Replica(client)
    await one.source.refresh()
    run = asyncio.create_task(two.source.run())
    await server.streams_open(1)
    two.changed.clear()
    one.moment += 21 * DAY
    await one.source.refresh()
    async with asyncio.timeout(5):
        while two.served[-1] != one.served[-1]:
            two.changed.clear()
            await two.changed.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


@pytest.mark.usefixtures("server")
async def test_a_disk_that_is_full_for_a_moment_ends_nothing(replica: Replica) -> None:
    replica.full = 2
    run = asyncio.create_task(replica.source.run())
    async with asyncio.timeout(5):
        await replica.changed.wait()
    assert not run.done()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)


@pytest.mark.parametrize("broken", ["gone", "cut", "changed"])
async def test_a_broken_watch_is_begun_anew(server: FaultServer, replica: Replica, broken: str) -> None:
    run = asyncio.create_task(replica.source.run())
    await server.streams_open(1)
    watches = len(server.seen("watch"))
    if broken == "gone":
        server.send_error(410, "Expired", "too old resource version")
    elif broken == "changed":
        server.send(b'{"type":"BOOKMARK","object":{"kind":"Secret","apiVersion":"v1","metadata":{}}}\n')
        server.put(Secret, {"metadata": {"name": "hooks", "namespace": "system"}})
    else:
        server.cut_streams()
    await server.requested(watches + 1, verb="watch")
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert len(replica.served) >= 2


async def test_nothing_is_published_again_when_nothing_changed(server: FaultServer, replica: Replica) -> None:
    await replica.source.refresh()
    # Since then others were busy, and the server has forgotten how it came to what it has.
    server.put(Secret, {"metadata": {"name": "another", "namespace": "system"}})
    server.compact()
    replica.published.clear()
    run = asyncio.create_task(replica.source.run())
    await server.requested(1, verb="watch")
    # A watch that spins opens again at once, in real time; nothing else tells that one does not.
    await asyncio.sleep(0.2)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    # Once by the first look of the run; none of it by a watch that spins.
    assert len(replica.published) == 1
    assert len(server.seen("watch")) == 1


async def test_a_watch_whose_time_is_over_publishes_nothing(
    server: FaultServer, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Client.watch, "__kwdefaults__", {**(Client.watch.__kwdefaults__ or {}), "timeout": 0.1})
    run = asyncio.create_task(replica.source.run())
    await server.requested(2, verb="watch", timeout=10.0)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert len(replica.published) == 1


async def test_a_lost_answer_is_read_back(server: FaultServer, replica: Replica) -> None:
    server.fault(Reset(after_handling=True), on="create")
    with pytest.raises(Unreachable):
        await replica.source.refresh()
    await replica.source.refresh()
    assert len(replica.served) == 1
    assert len(server.objects(Secret)) == 1


async def test_a_server_that_is_away_is_tried_again(server: FaultServer, replica: Replica) -> None:
    server.fault(Answer(403), times=3)
    run = asyncio.create_task(replica.source.run())
    async with asyncio.timeout(5):
        await replica.changed.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
