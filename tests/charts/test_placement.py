"""What the chart of a service with one API renders from the library alone: Placement's."""

from typing import Any

from tests.charts.conftest import Render

Objects = dict[tuple[str, str], dict[str, Any]]

DEPLOYMENT = ("Deployment", "placement")
DB_SYNC = ("Job", "placement-db-sync-abc")
IDENTITY = ("Job", "placement-identity-create-890")


def pod(objects: Objects, name: tuple[str, str]) -> dict[str, Any]:
    return dict(objects[name]["spec"]["template"]["spec"])


def waits_for(objects: Objects, name: tuple[str, str]) -> list[str]:
    return [container["name"] for container in pod(objects, name).get("initContainers", [])]


def test_everything_that_was_asked_for_is_there(render: Render) -> None:
    assert set(render("placement")) == {
        DEPLOYMENT,
        ("PodDisruptionBudget", "placement"),
        ("Service", "placement-public"),
        ("Service", "placement-internal"),
        ("ServiceAccount", "placement"),
        ("ConfigMap", "placement-wait"),
        ("Role", "placement-wait"),
        ("RoleBinding", "placement-wait"),
        ("ConfigMap", "placement-db-create"),
        ("Job", "placement-db-create-789"),
        ("ConfigMap", "placement-identity-create"),
        IDENTITY,
        DB_SYNC,
        ("Job", "placement-online-data-migrations-123"),
        ("Job", "placement-action-migrate-data-456"),
        ("NetworkPolicy", "placement"),
        ("NetworkPolicy", "placement-api"),
    }


def test_nothing_is_rendered_that_was_not_asked_for(render: Render) -> None:
    nothing = "components=null,jobs=null,actions=null,provision=null,networkPolicies=null,services=null"
    assert set(render("placement", "--set", nothing)) == set()


def test_who_waits_for_whom(render: Render) -> None:
    objects = render("placement")
    waiting = {name: waits_for(objects, name) for name in objects if name[0] in {"Job", "Deployment"}}
    assert waiting == {
        DEPLOYMENT: ["wait-for-db-sync"],
        DB_SYNC: ["wait-for-db-create"],
        ("Job", "placement-online-data-migrations-123"): ["wait-for-db-sync"],
        ("Job", "placement-action-migrate-data-456"): ["wait-for-db-sync"],
        ("Job", "placement-db-create-789"): [],
        IDENTITY: [],
    }


def test_the_job_that_enters_keystone_has_its_passwords_from_secrets_alone(render: Render) -> None:
    container = pod(render("placement"), IDENTITY)["containers"][0]
    assert container["args"] == ["python3", "/var/lib/stackwright/create_identity.py"]
    said = {variable["name"]: variable.get("value", variable.get("valueFrom")) for variable in container["env"]}
    assert said == {
        "KEYSTONE_URL": "http://keystone-internal.openstack.svc:5000",
        "REGION": "regionOne",
        "ADMIN_USERNAME": "admin",
        "ADMIN_PROJECT": "admin",
        "ADMIN_PASSWORD": {"secretKeyRef": {"name": "osp-secret", "key": "AdminPassword"}},
        "USER_NAME": "placement",
        "USER_PASSWORD": {"secretKeyRef": {"name": "osp-secret", "key": "PlacementPassword"}},
        "SERVICE_NAME": "placement",
        "SERVICE_TYPE": "placement",
        "SERVICE_DESCRIPTION": "Placement",
        "PUBLIC_URL": "http://placement-public.openstack.svc:8778",
        "INTERNAL_URL": "http://placement-internal.openstack.svc:8778",
    }


def test_a_change_of_what_keystone_is_told_is_another_job(render: Render) -> None:
    def jobs(*arguments: str) -> set[str]:
        objects = render("placement", "--set", "provision.identity.hash=", *arguments)
        return {name for kind, name in objects if kind == "Job" and "identity-create" in name}

    before = jobs()
    assert before == jobs()
    assert before != jobs("--set", "provision.identity.endpoints.public=http://placement.example")


def test_the_api_listens_where_its_services_send(render: Render) -> None:
    objects = render("placement")
    container = pod(objects, DEPLOYMENT)["containers"][0]
    assert container["ports"] == [{"name": "api", "containerPort": 8778}]
    assert container["readinessProbe"]["httpGet"] == {"path": "/", "port": "api"}
    for interface in ("public", "internal"):
        spec = objects["Service", f"placement-{interface}"]["spec"]
        assert spec["ports"] == [{"name": "api", "port": 8778, "targetPort": "api"}]
        assert spec["selector"] == objects[DEPLOYMENT]["spec"]["selector"]["matchLabels"]
