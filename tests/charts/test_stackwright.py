"""The chart of the operators: what it grants, what it calls things, and what goes with it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright import services
from stackwright.controllers import permissions
from stackwright.controllers.teams import lease_of, team_of_kind
from stackwright.kube import documents
from stackwright.kube.crd.generate import manifest
from tests.charts.conftest import CHARTS, VALUES, Helm, Refuse, Render
from tests.charts.installing import INSTALLED

ONE = ("--set", "clusterWide=true", "--set", "services=null")
NAMESPACES = ("default", "kube-public")
SERVICES = [chart for chart in INSTALLED if chart.name != "stackwright"]


@pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in SERVICES])
def test_the_operators_may_apply_the_roles_of_each_service(helm: Helm, chart: Any) -> None:
    # A team is named after the group of its kinds, and mostly its chart is too.
    (team,) = {team_of_kind(each.kind) for each in services.blueprints() if each.chart_name == chart.name}
    granted, _ = permissions.single(team)
    values = VALUES / f"{chart.name}.yaml"
    printed = helm("template", "test", chart, *(["--values", str(values)] if values.exists() else []))
    roles = [body for body in documents.read(printed) if body["kind"] == "Role"]
    for rule in (rule for role in roles for rule in role["rules"]):
        assert permissions.covers(granted, rule), rule


def test_nothing_is_held_only_to_be_handed_on_without_a_chart_that_does(helm: Helm) -> None:
    for chart in SERVICES:
        used = set()
        printed = helm("template", "test", chart, "--values", VALUES / f"{chart.name}.yaml")
        roles = [body for body in documents.read(printed) if body["kind"] == "Role"]
        for rule in (rule for role in roles for rule in role["rules"]):
            used |= {(g, r, v) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
        handed = permissions.HANDED_ON.get(chart.name, {})
        assert {(*place, verb) for place, verbs in handed.items() for verb in verbs} <= used


def test_names_are_those_that_the_operator_knows(render: Render) -> None:
    objects = render("stackwright", "--namespace", "system")
    for word in ("keystone", "core"):
        assert ("Lease", lease_of(word)) in objects
    assert ("Service", "stackwright-webhook") in objects
    assert ("Secret", "stackwright-webhook") in objects
    assert ("ValidatingWebhookConfiguration", "stackwright-webhook.system") in objects
    arguments = container(objects, "stackwright-operator")["args"]
    assert [word for word in arguments if "--namespace=" in word] == [f"--namespace={name}" for name in NAMESPACES]
    assert "--webhook-service=stackwright-webhook" in arguments
    assert "--services=keystone,core" in arguments


def container(objects: dict[tuple[str, str], Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = objects["Deployment", name]["spec"]["template"]["spec"]["containers"][0]
    return found


def test_one_operator_for_all_namespaces_has_its_rights_everywhere(render: Render) -> None:
    objects = render("stackwright", "--namespace", "system", *ONE)
    assert {name for kind, name in objects if kind == "Lease"} == {lease_of(word) for word in permissions.teams()}
    rules = objects["ClusterRole", "system-stackwright-operator"]["rules"]
    inside, outside = permissions.everything()
    for rule in (rule for part in (inside, *permissions.split(outside)) for rule in permissions.rules(part)):
        assert rule in rules
    assert {name for kind, name in objects if kind == "Role"} == {"stackwright-operator-self"}


def roles(helm: Helm, *arguments: str) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """The rules of all roles, by kind, namespace and name."""
    values = ("--values", str(VALUES / "stackwright.yaml"), "--namespace", "system")
    printed = helm("template", "stackwright", CHARTS / "stackwright", *values, *arguments)
    return {
        (body["kind"], body["metadata"].get("namespace", ""), body["metadata"]["name"]): body["rules"]
        for body in documents.read(printed)
        if body["kind"] in ("Role", "ClusterRole")
    }


def test_operators_of_some_namespaces_have_rights_there_alone(helm: Helm) -> None:
    found = roles(helm, "--set", "services=null")
    name = "system-stackwright-operator"
    inside, outside = permissions.everything()
    assert set(found) == {
        ("ClusterRole", "", name),
        ("Role", "", "stackwright-operator-self"),
        *(("Role", namespace, name) for namespace in NAMESPACES),
    }
    for namespace in NAMESPACES:
        assert found["Role", namespace, name] == permissions.rules(inside)
    everywhere = found["ClusterRole", "", name]
    spaces, whole = permissions.split(outside)
    (own,) = permissions.rules(spaces)
    assert everywhere[:-1] == [*permissions.rules(whole), {**own, "resourceNames": list(NAMESPACES)}]
    # All that is left of the cluster as a whole: what there is to run on is read, and its own webhooks are kept. Of
    # namespaces it reads which pods they allow, and only of those in which it works.
    read = (("", "nodes"), ("", "namespaces"), ("storage.k8s.io", "storageclasses"))
    assert outside == dict.fromkeys(read, permissions.READ)
    assert everywhere[-1]["resourceNames"] == ["stackwright-webhook.system"]
    # What somebody deletes of them is created again, under this name alone.
    assert everywhere[-1]["verbs"] == ["create", "get", "patch"]


def test_commands_in_pods_are_run_only_by_operators_whose_services_keep_keys() -> None:
    keeps = {team_of_kind(service.kind) for service in services.blueprints() if service.key_rings}
    granted = {word for word in permissions.teams() if ("", "pods/exec") in permissions.single(word)[0]}
    assert granted == keeps
    assert granted < set(permissions.teams())


def test_all_namespaces_are_a_choice_that_goes_before_a_list(helm: Helm) -> None:
    assert {namespace for _, namespace, _ in roles(helm, "--set", "clusterWide=true")} == {""}


def policy(objects: dict[tuple[str, str], Any]) -> Any:
    return objects["NetworkPolicy", "stackwright-operators"]["spec"]


def test_the_operators_are_closed_but_for_their_webhooks(render: Render) -> None:
    spec = policy(render("stackwright"))
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["ingress"] == [{"ports": [{"port": 9443, "protocol": "TCP"}]}]
    (to,) = (rule["to"] for rule in spec["egress"] if "to" in rule)
    (rule,) = to[0]["namespaceSelector"]["matchExpressions"]
    assert rule["values"] == list(NAMESPACES)
    assert not policy(render("stackwright", "--set", "webhooks=false"))["ingress"]
    everywhere = policy(render("stackwright", *ONE))
    assert {"to": [{"namespaceSelector": {"matchLabels": {}}}]} in everywhere["egress"]
    assert not [1 for kind, _ in render("stackwright", "--set", "networkPolicies.enabled=false") if "Policy" in kind]


@pytest.mark.parametrize("mode", ["shared", "perService"])
def test_the_policy_is_of_the_pods_of_all_operators(render: Render, mode: str) -> None:
    objects = render("stackwright", *ONE, "--set", f"operatorMode={mode}")
    selected = policy(objects)["podSelector"]["matchLabels"].items()
    bodies = [body for (kind, _), body in objects.items() if kind == "Deployment"]
    bodies += started(objects).values() if mode == "perService" else ()
    for body in bodies:
        template = body["spec"]["template"]
        assert selected <= template["metadata"]["labels"].items()
        ports = {port["name"]: port["containerPort"] for port in template["spec"]["containers"][0]["ports"]}
        assert ports["health"] == 8080
        assert ports.get("webhook", 9443) == 9443


def test_metrics_are_open_to_those_that_are_named(render: Render) -> None:
    peer = "metrics.from[0].namespaceSelector.matchLabels.team=monitoring"
    opened = policy(render("stackwright", "--set", peer))["ingress"][1]
    assert opened["from"] == [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]
    assert opened["ports"] == [{"port": 8080, "protocol": "TCP"}]


PER_SERVICE = (*ONE, "--set", "operatorMode=perService", "--namespace", "system")


def started(objects: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """The Deployments that the operator of control planes can start, by their services."""
    prepared = objects["ConfigMap", "stackwright-operators"]["data"]
    return {Path(name).stem: yaml.safe_load(body) for name, body in prepared.items()}


def test_with_an_operator_for_each_service_the_chart_deploys_the_core_alone(render: Render) -> None:
    objects = render("stackwright", *PER_SERVICE)
    assert {name for kind, name in objects if kind == "Deployment"} == {"stackwright-operator-core"}
    arguments = container(objects, "stackwright-operator-core")["args"]
    assert "--services=core" in arguments
    assert "--operators=/etc/stackwright-operators" in arguments
    assert "--webhooks=on" in arguments
    assert objects["Service", "stackwright-webhook"]["spec"]["selector"]["openstack.org/service"] == "core"


def test_what_can_be_started_names_an_account_that_is_there_and_who_starts_it(render: Render) -> None:
    objects = render("stackwright", *PER_SERVICE)
    deployments = started(objects)
    assert set(deployments) == set(permissions.teams()) - {"core"}
    for word, body in deployments.items():
        assert body["metadata"]["name"] == f"stackwright-operator-{word}"
        (owner,) = body["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"]) in objects
        pod = body["spec"]["template"]["spec"]
        assert ("ServiceAccount", pod["serviceAccountName"]) in objects
        (arguments,) = (container["args"] for container in pod["containers"])
        assert f"--services={word}" in arguments
        assert "--webhooks=off" in arguments
        assert body["spec"]["selector"]["matchLabels"]["openstack.org/service"] == word


@pytest.mark.parametrize("word", permissions.teams())
def test_each_operator_has_the_rights_of_its_service_and_the_lease_of_it(render: Render, word: str) -> None:
    objects = render("stackwright", *PER_SERVICE)
    name = f"system-stackwright-operator-{word}"
    inside, outside = permissions.single(word)
    registration = {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    rules = [rule for rule in objects["ClusterRole", name]["rules"] if not registration.intersection(rule["resources"])]
    spaces, whole = permissions.split(outside)
    assert rules == [rule for part in (whole, spaces, inside) for rule in permissions.rules(part)]
    (subject,) = objects["ClusterRoleBinding", name]["subjects"]
    assert subject["name"] == f"stackwright-operator-{word}"
    own = objects["Role", f"stackwright-operator-{word}-self"]["rules"]
    assert own[0]["resourceNames"] == [lease_of(word)]
    # Only who starts the others may deploy, and only beside itself; only it answers webhooks.
    resources = {resource for rule in own for resource in rule["resources"]}
    assert resources == ({"leases", "secrets", "deployments"} if word == "core" else {"leases"})


def test_operators_for_each_service_in_some_namespaces_have_rights_there_alone(render: Render) -> None:
    some = ("--set", "namespaces={default}", "--set", "services=null", "--set", "operatorMode=perService")
    objects = render("stackwright", *some, "--namespace", "system")
    for body in started(objects).values():
        assert "--namespace=default" in body["spec"]["template"]["spec"]["containers"][0]["args"]
    for word in permissions.teams():
        name = f"system-stackwright-operator-{word}"
        inside, outside = permissions.single(word)
        assert objects["Role", name]["metadata"]["namespace"] == "default"
        assert objects["Role", name]["rules"] == permissions.rules(inside)
        everywhere = [rule for rule in objects["ClusterRole", name]["rules"] if "resourceNames" not in rule]
        assert everywhere == permissions.rules(permissions.split(outside)[1])
        # Only the pods of gateways take anything of their machine, which not every namespace allows.
        namespaces = {("", "namespaces")} if word == "ovn" else set()
        assert set(outside) - {("", "nodes"), ("storage.k8s.io", "storageclasses")} == namespaces


def test_a_change_of_what_can_be_started_rolls_who_starts_it(render: Render) -> None:
    def told(*arguments: str) -> Any:
        objects = render("stackwright", *PER_SERVICE, *arguments)
        return objects["Deployment", "stackwright-operator-core"]["spec"]["template"]["metadata"]["annotations"]

    before, after = told(), told("--set", "nodeSelector.disk=fast")
    assert before["openstack.org/operators-hash"] != after["openstack.org/operators-hash"]


def test_nothing_is_granted_by_a_wildcard(render: Render) -> None:
    for (kind, name), body in render("stackwright", *ONE).items():
        for rule in body.get("rules", ()) if kind in ("Role", "ClusterRole") else ():
            assert "*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"]), name


def test_without_webhooks_nothing_of_them_is_there(render: Render) -> None:
    objects = render("stackwright", *ONE, "--set", "webhooks=false")
    assert not [kind for kind, _ in objects if kind in ("Service", "Secret") or "Webhook" in kind]
    assert "--webhooks=off" in container(objects, "stackwright-operator")["args"]


def test_the_image_manifest_is_what_the_values_say_and_a_change_of_it_rolls_the_operators(render: Render) -> None:
    before = render("stackwright", *ONE)
    after = render("stackwright", *ONE, "--set", "images.components.keystone.reference=registry.example/keystone:2")
    told = yaml.safe_load(after["ConfigMap", "stackwright-images"]["data"]["images.yaml"])
    assert told["components"]["keystone"] == {"reference": "registry.example/keystone:2"}
    assert told["components"]["mariadb"]["sudo"] is True
    assert hash_of(before) != hash_of(after)


def hash_of(objects: dict[tuple[str, str], Any]) -> str:
    template = objects["Deployment", "stackwright-operator"]["spec"]["template"]
    return str(template["metadata"]["annotations"]["openstack.org/images-hash"])


def test_it_owns_nothing_that_a_cloud_consists_of(render: Render) -> None:
    kinds = {kind for kind, _ in render("stackwright")}
    assert not [kind for kind in kinds if kind in {body["spec"]["names"]["kind"] for body in definitions()}]
    # Definitions are not templates: helm never deletes them, and with them all clouds.
    assert "CustomResourceDefinition" not in kinds


def definitions() -> list[dict[str, Any]]:
    return [manifest(kind) for kind in services.kinds()]


def test_the_definitions_of_all_kinds_are_in_it() -> None:
    there = {path.stem for path in (CHARTS / "stackwright" / "crds").glob("*.yaml")}
    assert there == {body["metadata"]["name"] for body in definitions()}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(("--set", "image="), "image: name the operators' image", id="no-image"),
        pytest.param(("--set", "replicas=-1"), "replicas", id="less-than-none"),
        pytest.param(("--set", "services={Keystone}"), "services", id="a-kind-in-place-of-a-service"),
        pytest.param(("--set", "services={teapot}"), "there is no service teapot", id="a-service-that-there-is-not"),
        pytest.param(("--set", "operatorMode=many"), "operatorMode", id="a-mode-that-there-is-not"),
        pytest.param(
            ("--set", "operatorMode=perService"), "leave it empty with operatorMode=perService", id="two-ways-to-say-it"
        ),
        pytest.param(("--set", "webhook=false"), "webhook", id="a-misspelt-value"),
        pytest.param(("--set", "namespaces=null"), "namespaces: name the namespaces of your clouds", id="no-namespace"),
        pytest.param(("--set", "namespaces={A_B}"), "namespaces", id="a-namespace-that-cannot-be"),
        pytest.param(("--set", "metrics.from={all}"), "metrics", id="a-peer-that-is-none"),
        pytest.param(("--set", "networkPolicies.externalPorts={0}"), "externalPorts", id="a-port-that-is-none"),
    ],
)
def test_wrong_values_are_refused(refuse: Refuse, arguments: tuple[str, ...], said: str) -> None:
    assert said in refuse("stackwright", *arguments)
