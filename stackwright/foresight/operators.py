"""Which namespaces the installed operators work in. A resource in another one is seen by nobody, and gets no status."""

from collections.abc import Sequence

from stackwright.kube.builtin import Deployment
from stackwright.kube.client import Client
from stackwright.kube.errors import Denied, KindNotInstalled

# How the operators' chart and its operators are known, whatever their release is called.
CHART = "app.kubernetes.io/name=stackwright"
LABELS = f"{CHART},app.kubernetes.io/component=operator"
_RELEASE = "app.kubernetes.io/instance"


async def read(client: Client) -> tuple[Deployment, ...] | None:
    """Return the operators of a cluster; None where nobody lets us look, or where the server is no Kubernetes."""
    try:
        return tuple(await client.list(Deployment, labels=LABELS))
    except (Denied, KindNotInstalled):
        return None


def describe_blindness(operators: Sequence[Deployment] | None, namespace: str) -> str:
    """Return that no operator works in a namespace, and what to do; "" if one does, or if it is not known. Pure.

    Where none is installed, one may work from outside of the cluster.
    """
    if not operators or any(_sees(each, namespace) for each in operators):
        return ""
    named = sorted({place for each in operators for place in works_in(each)})
    release = operators[0].metadata.labels.get(_RELEASE, "stackwright")
    every = ",".join((*named, namespace))
    command = f"helm upgrade {release} charts/stackwright -n {operators[0].metadata.namespace} --reuse-values"
    return (
        f"The operators work only in namespace {', '.join(named)}, and would not see a cloud in {namespace}; add it to "
        f"their chart's namespaces: {command} --set 'namespaces={{{every}}}' (stackwright up --namespace {namespace} "
        "does it, too)."
    )


def works_in(operator: Deployment) -> list[str]:
    """Return the namespaces that an operator was told to work in; none stands for all. Pure."""
    option = "--namespace="
    containers = operator.spec.get("template", {}).get("spec", {}).get("containers", ())
    words = (word for container in containers for word in container.get("args", ()))
    return [word.removeprefix(option) for word in words if word.startswith(option)]


def _sees(operator: Deployment, namespace: str) -> bool:
    return namespace in (works_in(operator) or (namespace,))
