"""What a user's own chart may not hand on."""

import time
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stackwright.controllers.release.powers import ACCOUNT_NAME, ACCOUNT_TOKEN, Chart, problems

ACCOUNT = "{kind: ServiceAccount, metadata: {name: mine}}"
ROLE = "{kind: Role, metadata: {name: r}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}"
POLICY = "{kind: NetworkPolicy, metadata: {name: n}, spec: {podSelector: {matchLabels: {app: shared}}}}"
ROLE_OF = "roleRef: {kind: Role, name: r}"
OURS = [
    ROLE,
    POLICY,
    """kind: StatefulSet
metadata: {name: s}
spec:
  template:
    spec:
      serviceAccountName: ours
      containers: [{name: a, securityContext: {capabilities: {add: [SYS_NICE]}}}]
      volumes: [{name: v, hostPath: {path: /dev}}]
""",
]


def pods(spec: str, kind: str = "Deployment") -> str:
    template = f"template: {{spec: {spec}}}"
    inner = f"jobTemplate: {{spec: {{{template}}}}}" if kind == "CronJob" else template
    return f"{{kind: {kind}, metadata: {{name: d}}, spec: {{{inner}}}}}"


def binding(rest: str) -> str:
    return f"{{kind: RoleBinding, metadata: {{name: b}}, {rest}}}"


def chart(objects: list[str]) -> Chart:
    bodies: list[Any] = [yaml.safe_load(text) for text in objects]
    return Chart(bodies, "it", "here")


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(OURS, id="what-ours-has"),
        pytest.param(
            [ACCOUNT, ROLE, binding(f"{ROLE_OF}, subjects: [{{kind: ServiceAccount, name: mine, namespace: here}}]")],
            id="a-role-for-its-own-account",
        ),
        pytest.param([ACCOUNT, pods("{serviceAccountName: mine}")], id="its-own-account"),
        pytest.param([pods("{serviceAccountName: ours}")], id="the-account-of-ours"),
        pytest.param([pods("{serviceAccountName: default}"), pods("{}", "Job")], id="the-default-account"),
        pytest.param(
            [
                ACCOUNT,
                "{kind: Secret, metadata: {name: t, annotations: {kubernetes.io/service-account.name: mine}}, "
                "type: kubernetes.io/service-account-token}",
            ],
            id="the-token-of-its-own-account",
        ),
        pytest.param(
            ["{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app.kubernetes.io/instance: it}}}}"],
            id="a-policy-for-its-own-pods",
        ),
        pytest.param(
            [pods("{containers: [{securityContext: {capabilities: {add: [NET_BIND_SERVICE], drop: [ALL]}}}]}")],
            id="low-ports",
        ),
        pytest.param(
            ["{kind: Role, rules: x}", "{kind: Deployment, spec: [x]}", "{kind: Secret, metadata: x}"],
            id="what-the-server-refuses-itself",
        ),
    ],
)
def test_what_the_services_own_chart_has_is_allowed(objects: list[str]) -> None:
    assert list(problems(chart(objects), chart(OURS))) == []


ODD: list[Any] = [None, 1, [], ["x"], {}, {"x": ["y"]}, "x"]
NAMES = (
    *("kind", "metadata", "spec", "roleRef", "subjects", "rules", "type", "name", "annotations", "template", "verbs"),
    *("kubernetes.io/service-account.name", "containers", "ports", "volumes", "securityContext", "add", "jobTemplate"),
)
KINDS = ("Role", "RoleBinding", "Secret", "Service", "NetworkPolicy", "Deployment", "CronJob", "ServiceAccount")
odd_values = st.recursive(
    st.sampled_from(ODD),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
odd_bodies = st.builds(
    lambda kind, body: {**body, "kind": kind},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(NAMES), odd_values, max_size=6),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(odd_bodies, max_size=4))
@example([{"kind": "RoleBinding", "roleRef": {"kind": "Role", "name": ["x"]}}])
@example([{"kind": "RoleBinding", "subjects": [{"kind": "ServiceAccount", "name": ["x"]}]}])
@example([{"kind": "Secret", "type": ACCOUNT_TOKEN, "metadata": {"annotations": {ACCOUNT_NAME: ["x"]}}}])
def test_odd_types_are_never_a_bug(bodies: list[Any]) -> None:
    ours = chart(OURS)
    assert all(isinstance(problem, str) for problem in problems(Chart(bodies, "it", "here"), ours))


def test_more_rights_than_anybody_looks_at_are_refused_at_once() -> None:
    names = [f"n{number}" for number in range(70)]
    rule = {"apiGroups": [""], "resources": names, "verbs": names}
    role = {"kind": "Role", "metadata": {"name": "r"}, "rules": [rule] * 100}
    began = time.process_time()
    (problem,) = problems(Chart([role] * 100, "it", "here"), chart(OURS))
    assert time.process_time() - began < 1
    assert problem == "Roles with more than 5000 single rights together; remove most of them"


TOKEN = "type: kubernetes.io/service-account-token"


@pytest.mark.parametrize(
    ("objects", "said"),
    [
        pytest.param(
            ["{kind: Role, metadata: {name: all}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}"],
            "Role all, which allows * of *.*; the service's own chart does not; remove it",
            id="a-role-beyond-ours",
        ),
        pytest.param(
            [
                "{kind: Role, metadata: {name: m}, rules: [{apiGroups: [''], resources: [secrets], "
                "verbs: [get, list, watch, create, delete]}]}"
            ],
            "Role m, which allows get of secrets, list of secrets, watch of secrets and 2 more; the service's own "
            "chart does not; remove it",
            id="many-rights-beyond-ours",
        ),
        pytest.param(
            [ROLE, binding(f"{ROLE_OF}, subjects: [{{kind: User, name: mallory}}]")],
            "RoleBinding b for User mallory; it may bind only to ServiceAccounts of the chart itself",
            id="a-user",
        ),
        pytest.param(
            [ROLE, binding(f"{ROLE_OF}, subjects: [{{kind: Group, name: 'system:authenticated'}}]")],
            "RoleBinding b for Group system:authenticated; it may bind only to ServiceAccounts of the chart itself",
            id="a-group",
        ),
        pytest.param(
            [ROLE, binding(f"{ROLE_OF}, subjects: [{{kind: ServiceAccount, name: default}}]")],
            "RoleBinding b for ServiceAccount default; it may bind only to ServiceAccounts of the chart itself",
            id="an-account-of-others",
        ),
        pytest.param(
            [ACCOUNT, ROLE, binding(f"{ROLE_OF}, subjects: [{{kind: ServiceAccount, name: mine, namespace: there}}]")],
            "RoleBinding b for ServiceAccount mine of namespace there; it may bind only to ServiceAccounts of "
            "the chart itself",
            id="an-account-of-the-same-name-elsewhere",
        ),
        pytest.param(
            [ACCOUNT, binding("roleRef: {kind: ClusterRole, name: admin}, subjects: []")],
            "RoleBinding b of ClusterRole admin; it may bind only Roles of the chart itself",
            id="a-cluster-role",
        ),
        pytest.param(
            [binding("roleRef: {kind: Role, name: others}")],
            "RoleBinding b of Role others; it may bind only Roles of the chart itself",
            id="a-role-of-others",
        ),
        pytest.param(
            [
                "{kind: Secret, metadata: {name: t, annotations: {kubernetes.io/service-account.name: op}}, "
                f"{TOKEN}}}"
            ],
            "Secret t with the token of ServiceAccount op, which is not of the chart itself",
            id="the-token-of-another",
        ),
        pytest.param(
            ["{kind: Secret, metadata: {name: sh.helm.release.v1.x.v9}, type: helm.sh/release.v1}"],
            "Secret sh.helm.release.v1.x.v9, which is a record of a Helm release; only the operator writes these; "
            "remove it",
            id="a-record-of-a-release",
        ),
        pytest.param(
            [pods("{serviceAccountName: op}")],
            "Deployment d with pods of ServiceAccount op, which is not of the chart itself",
            id="the-account-of-another",
        ),
        pytest.param(
            [pods("{serviceAccount: op}", "CronJob")],
            "CronJob d with pods of ServiceAccount op, which is not of the chart itself",
            id="by-the-old-name-of-the-field",
        ),
        pytest.param(
            [pods("{hostNetwork: true, hostPID: true, hostIPC: true}", "DaemonSet")],
            "DaemonSet d with pods that use hostIPC, hostNetwork, hostPID; those of the service's own chart do not",
            id="the-machines-own-names",
        ),
        pytest.param(
            [pods("{volumes: [{hostPath: {path: /dev}}, {hostPath: {path: /}}]}")],
            "Deployment d with pods that use hostPath /; those of the service's own chart do not",
            id="another-path-of-the-machine",
        ),
        pytest.param(
            [
                pods(
                    "{initContainers: [{securityContext: {privileged: true, capabilities: {add: [SYS_ADMIN]}}}], "
                    "containers: [{ports: [{hostPort: 22}]}]}",
                    "Job",
                )
            ],
            "Job d with pods that use hostPort 22, privileged containers, the capability SYS_ADMIN; those of the "
            "service's own chart do not",
            id="privileges",
        ),
        pytest.param(
            ["{kind: Service, metadata: {name: s}, spec: {externalIPs: [10.0.0.1]}}"],
            "Service s with externalIPs (10.0.0.1), which would take the traffic of others; remove them",
            id="the-traffic-of-others",
        ),
        pytest.param(
            ["{kind: NetworkPolicy, metadata: {name: n}, spec: {podSelector: {}, ingress: [{}]}}"],
            "NetworkPolicy n for pods of others; name app.kubernetes.io/instance: it in its podSelector.matchLabels",
            id="a-way-to-all-pods",
        ),
    ],
)
def test_what_is_beyond_is_named_with_its_object(objects: list[str], said: str) -> None:
    assert list(problems(chart(objects), chart(OURS))) == [said]
