"""A real API server says of parts of its own objects what our checks say of them, which must not need one."""

from typing import Any

from stackwright import tasks
from stackwright.api.embedded.pods import DnsConfig, Toleration, ValueSource
from stackwright.api.embedded.volumes import Volume
from stackwright.api.topology import Affinity
from stackwright.kube.builtin import Pod, Service
from stackwright.kube.client import Client
from stackwright.kube.errors import ApiError
from stackwright.kube.resource import JsonObject, Resource
from tests.embedded_cases import CASES, Case

PORTS = [{"port": 80}]


def embed(case: Case, namespace: str) -> tuple[type[Resource], JsonObject]:
    """Return an object that has a part, and is good otherwise."""
    metadata = {"name": "embedding", "namespace": namespace}
    container: JsonObject = {"name": "one", "image": "image:1"}
    pod: JsonObject = {"containers": [container]}
    value: Any = case.value
    if case.part is Toleration:
        pod["tolerations"] = [value]
    elif case.part is Affinity:
        pod["affinity"] = value
    elif case.part is DnsConfig:
        pod["dnsConfig"] = value
    elif case.part is Volume:
        pod["volumes"] = [value]
    elif case.part is ValueSource:
        container["env"] = [{"name": "A", "valueFrom": value}]
    else:
        return Service, {"metadata": metadata, "spec": {"ports": PORTS, "selector": {"a": "b"}, **value}}
    return Pod, {"metadata": metadata, "spec": pod}


async def refusal(client: Client, case: Case, namespace: str) -> str:
    """Return why the server does not take a part; an empty text if it does."""
    kind, body = embed(case, namespace)
    try:
        await client.apply(kind, body, dry_run=True)
    except ApiError as error:
        return f"{error.code} {error.message}"
    return ""


async def test_the_server_refuses_what_we_refuse_and_nothing_else(client: Client, namespace: str) -> None:
    answers = await tasks.outcomes(*(refusal(client, case, namespace) for case in CASES))
    found = zip(CASES, answers, strict=True)
    wrong = {str(case): said or "taken" for case, said in found if bool(said) != case.refused}
    assert wrong == {}
    assert any(str(said).startswith("500") for said in answers), "a failure of the server is what we spare it"
