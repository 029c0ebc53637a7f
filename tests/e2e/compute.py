"""What the compute API tells of a Nova, what its pods are, and pages that are asked for inside of the cluster."""

import hashlib
import hmac
import json

from tests.e2e.cloud import Cloud

# What examples/cloud/nova.yaml, examples/cloud/openstack.yaml and the shared cloud declare.
COMPUTE = "nova-cell1-fake-compute-0"
DECLARED = frozenset(
    {
        ("nova-scheduler", "nova-scheduler-0"),
        ("nova-conductor", "nova-cell0-conductor-0"),
        ("nova-conductor", "nova-cell1-conductor-0"),
        ("nova-compute", COMPUTE),
    }
)


def services(cloud: Cloud) -> dict[tuple[str, str], str]:
    """Return the state of each service that the compute API lists, by its program and host."""
    listed = cloud.openstack("compute", "service", "list")
    return {(entry["Binary"], entry["Host"]): entry["State"] for entry in listed}


def hypervisors(cloud: Cloud) -> set[str]:
    """Return the hosts that servers can be scheduled to."""
    return {entry["Hypervisor Hostname"] for entry in cloud.openstack("hypervisor", "list")}


def pods(cloud: Cloud, start: str) -> dict[str, str]:
    """Return the pods whose names start like this, each with its uid and its restarts."""
    path = '{range .items[*]}{.metadata.name} {.metadata.uid}{.status.containerStatuses[*].restartCount}{"\\n"}{end}'
    lines = cloud.kubectl("get", "pods", f"--output=jsonpath={path}").splitlines()
    return dict(line.split(" ") for line in lines if line.startswith(start))


def fetched(cloud: Cloud, url: str, **headers: str) -> tuple[int, str]:
    """Return code and text of a page, asked for by the client's pod."""
    script = (
        "import json, sys, urllib.request, urllib.error\n"
        f"request = urllib.request.Request({url!r}, headers={headers!r})\n"
        "try:\n"
        "    answer = urllib.request.urlopen(request, timeout=60)\n"
        "except urllib.error.HTTPError as error:\n"
        "    answer = error\n"
        "print(json.dumps([answer.status, answer.read().decode()]))\n"
    )
    code, text = json.loads(cloud.kubectl.inside("client", "python3", "-c", script))
    return int(code), str(text)


def asked_for_metadata(cloud: Cloud, place: str, shared: str) -> list[int]:
    """Return a metadata service's answers: without a signature, with a wrong one, with that of the shared secret."""
    server, project = "11111111-2222-3333-4444-555555555555", "66666666666666666666666666666666"
    signature = hmac.new(shared.encode(), server.encode(), hashlib.sha256).hexdigest()
    asked = {"X-Instance-ID": server, "X-Tenant-ID": project, "X-Forwarded-For": "10.0.0.1"}

    def answer(**more: str) -> int:
        return fetched(cloud, f"{place}/openstack/latest/meta_data.json", **asked, **more)[0]

    signed = (answer(**{"X-Instance-ID-Signature": one}) for one in ("0" * 64, signature))
    return [answer(), *signed]
