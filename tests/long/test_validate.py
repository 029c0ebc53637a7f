"""`stackwright validate` on the cloud of `make up`: Tempest itself says what does not work.

Its servers are real ones on two machines, and Tempest logs in to them by their floating IPs. What fails for a reason
that is not ours stands in KNOWN, with the reason; all else has to pass.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stackwright.local.cluster.lifecycle import Cluster
from tests.checkout import ROOT
from tests.e2e import cloud as clouds
from tests.e2e.cloud import Cloud
from tests.e2e.clusters import NAME
from tests.e2e.waiting import eventually

POD = "stackwright-validate"
# What the names of all that it makes in the cloud begin with.
PREFIXES = ("swvalid-", "tempest-")
Tell = Callable[[str], None]
# Tests that fail on this cloud, and why.
KNOWN = {
    "tempest.api.image.v2.test_images.ImportImagesTest.test_image_web_download_import": "needs the internet",
}
COMMAND = (sys.executable, "-m", "stackwright.cli", "validate", "--yes", "--name", NAME)


@pytest.fixture(scope="module")
def cloud(cluster: Cluster) -> Iterator[Cloud]:
    """The cloud of `make up`: two machines with real servers, and an external network."""
    with clouds.raised(cluster, None) as made:
        made.with_client()
        yield made


def validated(cloud: Cloud, *words: str, minutes: float) -> dict[str, Any]:
    """Validate the cloud, and return what is said of it; the progress goes where ours goes."""
    done = subprocess.run(
        [*COMMAND, "--output=json", f"--timeout={minutes:g}m", *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        timeout=(minutes + 10) * 60,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == bool(found["failed"] or found["missing"])
    assert cloud.password() not in done.stdout.decode()
    return found


def judge(found: dict[str, Any], tell: Tell, what: str) -> None:
    """Tell the counts, and fail for each failure that nobody knows the reason of."""
    failed = {test["test"]: test["reason"] for test in found["tests"] if test["status"] == "failed"}
    counts = f"{found['passed']} passed, {found['failed']} failed, {found['skipped']} skipped"
    tell(f"{what}: {counts}, left out {found['leftOut']}, {found['seconds'] / 60:.1f} min")
    assert found["missing"] == []
    assert found["notRemoved"] == []
    assert {name: reason for name, reason in failed.items() if name not in KNOWN} == {}
    assert found["passed"] > 0


def nothing_is_left(cloud: Cloud) -> None:
    """Check that neither the cloud nor the cluster has anything of a validation."""
    for kind in ("project", "user", "flavor", "image", "network", "router", "security group"):
        listed = cloud.openstack(*kind.split(), "list") or []
        names = [entry["Name"] for entry in listed]
        assert [name for name in names if (name or "").startswith(PREFIXES)] == [], kind
    assert (
        cloud.kubectl("get", "pods,networkpolicies", "--output=name", f"--selector=app.kubernetes.io/name={POD}") == ""
    )


@pytest.mark.parametrize(
    ("what", "selections", "minutes"),
    [
        pytest.param("smoke", (), 30, id="smoke"),
        pytest.param("identity and image", ("tempest.api.identity", "tempest.api.image"), 45, id="identity-and-image"),
        pytest.param("compute", ("tempest.api.compute",), 120, id="compute"),
        pytest.param("network", ("tempest.api.network",), 90, id="network"),
        pytest.param("scenario", ("tempest.scenario",), 60, id="scenario"),
    ],
)
def test_the_cloud_does_what_tempest_asks_for(
    cloud: Cloud, tell: Tell, what: str, selections: tuple[str, ...], minutes: float
) -> None:
    found = validated(cloud, *selections, minutes=minutes)
    judge(found, tell, what)
    nothing_is_left(cloud)


def test_a_word_that_selects_nothing_is_said_and_makes_nothing(cloud: Cloud) -> None:
    done = subprocess.run([*COMMAND, "tempest.api.compote"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "No test of Tempest is called tempest.api.compote" in done.stderr
    assert "Traceback" not in done.stderr
    nothing_is_left(cloud)


def test_who_interrupts_it_leaves_nothing_behind(cloud: Cloud) -> None:
    with subprocess.Popen([*COMMAND, "tempest.api.compute.servers"], cwd=ROOT) as process:
        eventually(lambda: "Running" in cloud.kubectl.get("pods", "{.items[*].status.phase}"), "the pod runs", 120.0)
        # Until its tests have made something.
        eventually(
            lambda: any(entry["Name"].startswith(PREFIXES) for entry in cloud.openstack("project", "list")),
            "it works",
            180.0,
        )
        eventually(lambda: cloud.openstack("server", "list", "--all-projects"), "there is a server", 300.0)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(300) == 130
    nothing_is_left(cloud)
