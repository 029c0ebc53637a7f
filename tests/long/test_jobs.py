"""A service that the chart's own Jobs enter into database and Keystone: provisioning: Job."""

import json

from tests.e2e.cloud import Cloud
from tests.e2e.waiting import eventually

PASSWORD = "another-of-the-users"


def test_a_service_made_again_by_jobs_finds_its_data(cloud: Cloud) -> None:
    shelf = cloud.openstack("resource", "provider", "create", "shelf")["uuid"]
    patch = json.dumps({"stringData": {"PlacementPassword": PASSWORD}})
    cloud.kubectl("patch", "secret", "osp-secret", "--type=merge", f"--patch={patch}")
    replace(cloud, provisioning="Job")
    jobs = json.loads(cloud.kubectl("get", "jobs", "--selector=app.kubernetes.io/instance=placement", "--output=json"))
    done = {job["metadata"]["labels"]["app.kubernetes.io/component"]: job["status"] for job in jobs["items"]}
    expected = ("db-create", "db-sync", "identity-create")
    assert {name: status.get("succeeded") for name, status in done.items()} == dict.fromkeys(expected, 1)
    listed = cloud.kubectl("get", "keystoneservices,keystoneendpoints", "--output=name").split()
    assert [name for name in listed if name.endswith("/placement")] == []
    assert shelf in [entry["uuid"] for entry in cloud.openstack("resource", "provider", "list")]
    log = cloud.kubectl("logs", "--selector=app.kubernetes.io/component=identity-create", "--tail=-1")
    assert "Service placement, user placement and both endpoints are there" in log
    assert PASSWORD not in log
    # Nobody takes back what a Job has made in Keystone.
    cloud.kubectl("exec", "client", "--", "openstack", "service", "delete", "placement")
    replace(cloud, provisioning=None)


def replace(cloud: Cloud, provisioning: str | None) -> None:
    """Take Placement out, and add it again with another way of provisioning."""
    cloud.ask(placement={"enabled": False})
    cloud.kubectl("wait", "--for=delete", "placementapi/placement", "--timeout=60s")
    eventually(lambda: "placement" not in cloud.catalog(), "Placement is out of the catalog")
    cloud.ask(placement={"enabled": True, "template": {"provisioning": provisioning}})
    cloud.ready("PlacementAPI", "placement", "placement")
