"""Whose place a user's own chart may not take: pods, traffic and room of others."""

from typing import Any

import pytest
import yaml

from stackwright.controllers.release.powers import Chart, problems

INSTANCE, NAME, NEEDS = "app.kubernetes.io/instance", "app.kubernetes.io/name", "needs.openstack.org"
OURS = f"""
kind: Deployment
metadata: {{name: it, labels: {{{INSTANCE}: it, {NAME}: placement}}}}
spec:
  replicas: 3
  selector: {{matchLabels: {{{INSTANCE}: it, {NAME}: placement}}}}
  template:
    metadata: {{labels: {{{INSTANCE}: it, {NAME}: placement, database.{NEEDS}/openstack: "true"}}}}
"""


def chart(*objects: str) -> Chart:
    bodies: list[Any] = [yaml.safe_load(text) for text in objects]
    return Chart(bodies, "it", "here")


def pods(labels: str = "{}", spec: str = "{}", rest: str = "") -> str:
    template = f"template: {{metadata: {{labels: {labels}}}, spec: {spec}}}"
    return f"{{kind: Deployment, metadata: {{name: d}}, spec: {{{template}{rest}}}}}"


def selecting(kind: str, selector: str) -> str:
    return f"{{kind: {kind}, metadata: {{name: s}}, spec: {{selector: {selector}}}}}"


PASSES = "by which it passes for another's"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(OURS, id="what-ours-has"),
        pytest.param(pods("{app: exporter}"), id="labels-of-its-own"),
        pytest.param(pods(f"{{{INSTANCE}: it, {NAME}: exporter}}"), id="another-program-of-the-release"),
        pytest.param(pods(rest=", replicas: 32"), id="as-many-pods-as-a-resource-may-ask-for"),
        pytest.param(pods(spec="{priorityClassName: cloud}"), id="a-priority-class-of-the-users"),
        pytest.param(selecting("Service", f"{{{INSTANCE}: it, app: exporter}}"), id="its-own-pods"),
        pytest.param("{kind: Service, metadata: {name: s}, spec: {type: ExternalName}}", id="a-service-of-no-pods"),
        pytest.param(
            selecting("PodDisruptionBudget", f"{{matchLabels: {{{INSTANCE}: it}}}}"), id="a-budget-of-its-own-pods"
        ),
        pytest.param(pods(labels="[a]", spec="x", rest=", replicas: '9'"), id="what-the-server-refuses-itself"),
    ],
)
def test_what_is_of_the_release_itself_is_allowed(body: str) -> None:
    assert list(problems(chart(body), chart(OURS))) == []


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(
            pods(f"{{{INSTANCE}: keystone, {NAME}: keystone}}"),
            f"Deployment d with the label {INSTANCE}: keystone, {PASSES}; set it to it",
            id="pods-of-another-service",
        ),
        pytest.param(
            "{kind: CronJob, metadata: {name: d}, spec: {jobTemplate: {spec: {template: {metadata: {labels: "
            f"{{{INSTANCE}: keystone}}}}}}}}}}}}}}",
            f"CronJob d with the label {INSTANCE}: keystone, {PASSES}; set it to it",
            id="pods-of-a-cron-job",
        ),
        pytest.param(
            f"{{kind: Secret, metadata: {{name: keystone-config-data-x, labels: {{{INSTANCE}: keystone}}}}}}",
            f"Secret keystone-config-data-x with the label {INSTANCE}: keystone, {PASSES}; set it to it",
            id="an-edition-of-another-configuration",
        ),
        pytest.param(
            pods(f"{{{INSTANCE}: it, broker.{NEEDS}/rabbitmq: 'true'}}"),
            f"Deployment d with the label broker.{NEEDS}/rabbitmq: true, {PASSES}; remove it",
            id="a-way-in-that-ours-does-not-have",
        ),
        pytest.param(
            pods(f"{{{NAME}: stackwright}}"),
            f"Deployment d with the label {NAME}: stackwright, {PASSES}; remove it",
            id="the-operators-way-in",
        ),
        pytest.param(
            selecting("Service", f"{{{NAME}: mariadb}}"),
            f"Service s for pods of others; name {INSTANCE}: it in its selector",
            id="a-port-of-another-service",
        ),
        pytest.param(
            selecting("PodDisruptionBudget", "{}"),
            f"PodDisruptionBudget s for pods of others; name {INSTANCE}: it in its selector.matchLabels",
            id="a-budget-of-all-pods",
        ),
        pytest.param(
            "{kind: ConfigMap, metadata: {name: c, finalizers: [example.org/never]}}",
            "ConfigMap c with the finalizer example.org/never, which could keep it from ever being deleted; remove it",
            id="an-object-without-end",
        ),
        pytest.param(
            "{kind: StatefulSet, metadata: {name: c}, spec: {volumeClaimTemplates: [{metadata: {finalizers: [a/b]}}]}}",
            "StatefulSet c with the finalizer a/b, which could keep it from ever being deleted; remove it",
            id="volumes-without-end",
        ),
        pytest.param(
            pods(rest=", replicas: 100000"),
            "Deployment d with 100000 pods; a chart may ask for 32 at once",
            id="more-pods-than-a-resource-may-ask-for",
        ),
        pytest.param(
            "{kind: Job, metadata: {name: j}, spec: {parallelism: 100000}}",
            "Job j with 100000 pods; a chart may ask for 32 at once",
            id="a-job-with-many-pods",
        ),
        pytest.param(
            pods(spec="{priorityClassName: system-node-critical}"),
            "Deployment d with pods of priority class system-node-critical, which would drive off others; use a class "
            "of your own",
            id="the-room-of-others",
        ),
        pytest.param(
            pods(spec="{nodeName: node-1}"),
            "Deployment d with pods that use nodeName node-1; those of the service's own chart do not",
            id="past-the-scheduler",
        ),
    ],
)
def test_what_takes_the_place_of_others_is_named_with_its_object(body: str, said: str) -> None:
    assert list(problems(chart(body), chart(OURS))) == [said]


REDIS = pods(f"{{app: redis, release: keystone, job-name: x, openstack.org/own: a, {NAME}: it}}")


@pytest.mark.parametrize("kind", ["Service", "PodDisruptionBudget"])
@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        pytest.param("{app: redis, release: keystone}", True, id="as-charts-were-written-before"),
        pytest.param("{app: redis}", True, id="a-label-of-its-own"),
        pytest.param(f"{{app: redis, {NAME}: mariadb}}", True, id="one-of-two-is-enough"),
        pytest.param("{app: my-sidecar}", False, id="of-no-pods-of-the-chart"),
        pytest.param("{App: redis}", False, id="another-label"),
        pytest.param(f"{{{NAME}: it}}", False, id="a-label-that-ours-have-too"),
        pytest.param("{job-name: x}", False, id="a-label-that-kubernetes-adds"),
        pytest.param("{openstack.org/own: a}", False, id="a-label-of-ours"),
    ],
)
def test_pods_of_a_chart_may_be_selected_by_labels_of_its_own(kind: str, selector: str, *, allowed: bool) -> None:
    body = selecting(kind, selector if kind == "Service" else f"{{matchLabels: {selector}}}")
    assert (list(problems(chart(body, REDIS), chart(OURS))) == []) is allowed


def test_a_policy_of_other_pods_names_the_release_all_the_same() -> None:
    policy = "{kind: NetworkPolicy, metadata: {name: n}, spec: {podSelector: {matchLabels: {app: redis}}}}"
    (sentence,) = problems(chart(policy, REDIS), chart(OURS))
    assert sentence.startswith("NetworkPolicy n for pods of others")
