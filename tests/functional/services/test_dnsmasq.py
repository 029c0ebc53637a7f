"""What is the name server's own, beside what its row says: names that change under it, and its address."""

import pytest

from stackwright.api.network import DNSData
from stackwright.kube.builtin import ConfigMap, Deployment, Service
from stackwright.services.dnsmasq.kinds import DNSMasq
from tests.functional.running import quiet
from tests.functional.services.case import ServiceCase
from tests.functional.services.cases.dnsmasq import CASES
from tests.functional.services.place import Place
from tests.functional.watching import eventually

LOAD_BALANCER = {"service": {"spec": {"type": "LoadBalancer"}}}


@pytest.fixture
def case() -> ServiceCase:
    return CASES[0]


async def test_names_come_and_go_and_no_pod_is_replaced(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    await standing.put(DNSData, "first", spec={"hosts": [{"ip": "192.0.2.1", "hostnames": ["one.example.com"]}]})
    other = {"hosts": [{"ip": "192.0.2.9", "hostnames": ["x"]}], "dnsDataLabelSelectorValue": "other"}
    await standing.put(DNSData, "other", spec=other)
    await standing.ask(override=LOAD_BALANCER)
    await standing.told("Service dnsmasq-dns waits for a load balancer to give it an address", "CreateServiceReady")
    service = await client.get(Service, "dnsmasq-dns", namespace)
    assert [(port["port"], port["protocol"]) for port in service.spec["ports"]] == [(53, "UDP"), (53, "TCP")]
    address = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.53"}]}}}
    await client.patch(Service, "dnsmasq-dns", namespace, address, subresource="status")
    ready: DNSMasq = await standing.up()
    assert ready.status.dnsAddresses == ("192.0.2.53",)
    assert ready.status.dnsClusterAddresses == (service.spec["clusterIP"],)
    before = await client.get(Deployment, "dns-server", namespace)
    await served(standing, "192.0.2.1 one.example.com\n")
    await standing.put(DNSData, "second", spec={"hosts": [{"ip": "192.0.2.2", "hostnames": ["two.example.com"]}]})
    await served(standing, "192.0.2.1 one.example.com\n192.0.2.2 two.example.com\n")
    await client.delete(DNSData, "first", namespace)
    await served(standing, "192.0.2.2 two.example.com\n")
    assert standing.runtime is not None
    await quiet(standing.runtime)
    after = await client.get(Deployment, "dns-server", namespace)
    assert (after.metadata.uid, after.metadata.generation) == (before.metadata.uid, before.metadata.generation)


async def test_a_huge_dns_data_keeps_no_other_name_out(standing: Place) -> None:
    client, namespace = standing.client, standing.namespace
    names = [f"{number:03}-{'x' * 49}.example.com" for number in range(250)]
    # Each takes less than a ConfigMap holds, and both together more.
    for name, net, count in (("huge", "192.0.2", 50), ("large", "198.51.100", 20)):
        hosts = [{"ip": f"{net}.{number}", "hostnames": names} for number in range(count)]
        await standing.put(DNSData, name, spec={"hosts": hosts})
    await standing.put(DNSData, "small", spec={"hosts": [{"ip": "192.0.2.1", "hostnames": ["one.example.com"]}]})
    await standing.ask()
    ready: DNSMasq = await standing.up()
    assert ready.status.leftOut == ("huge",)
    await eventually(client, ConfigMap, "dns-hosts", namespace, lambda there: "one.example.com" in there.data["hosts"])
    await client.delete(DNSData, "large", namespace)
    await eventually(client, DNSMasq, "dns", namespace, lambda there: there.status.leftOut == ())
    await eventually(client, ConfigMap, "dns-hosts", namespace, lambda there: len(there.data["hosts"]) > 800_000)


async def served(place: Place, text: str) -> None:
    """Wait until the pods mount just these names."""
    await eventually(place.client, ConfigMap, "dns-hosts", place.namespace, lambda there: there.data == {"hosts": text})
