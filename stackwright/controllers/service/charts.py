"""Which chart a service is rendered from: ours, or one that the user brings; and what that one may hold."""

from pathlib import Path
from typing import Any

from stackwright.adapters.errors import Rejected
from stackwright.adapters.helm import Rendered
from stackwright.api.base import CustomResource, JsonObject
from stackwright.api.charts import ChartSource
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs.need import Resolved
from stackwright.blueprint.secret_values import decode, text_of
from stackwright.blueprint.service import Service
from stackwright.blueprint.service_fields import spec_of
from stackwright.controllers import ownership, release
from stackwright.controllers.release import bodies
from stackwright.controllers.service import labels
from stackwright.controllers.service.environment import Environment
from stackwright.kube.builtin import ConfigMap, PersistentVolumeClaim, Secret, StatefulSet
from stackwright.kube.controller import Context
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import Key, Resource

# The one key of a Secret of type kubernetes.io/dockerconfigjson.
LOGIN = ".dockerconfigjson"
REASON = "ChartRefused"
# How many objects of a chart that is refused are named.
NAMED = 5


def source(resource: CustomResource) -> ChartSource | None:
    """Return where the user's own chart comes from, if there is one."""
    return spec_of(resource).chart


def describe_source(resource: CustomResource) -> str:
    """Return what a status says of where the chart comes from; "" where it is ours."""
    chart = source(resource)
    return str(chart) if chart is not None else ""


def resolve(resource: CustomResource, look: Look) -> Resolved:
    """Return whether all is there that the user's own chart comes from. Pure."""
    chart = source(resource)
    known = ("InputReady", "ServiceConfigReady", "DeploymentReady")
    condition = next((name for name in known if name in resource.declared_conditions()), "")
    sentence = "" if chart is None else _missing(chart, look)
    waits = (Wait("ChartMissing", sentence, condition, ends=Ends.BY_USER),) if sentence else ()
    return Resolved(ready=not sentence, waits=waits)


def _missing(chart: ChartSource, look: Look) -> str:
    if chart.configMap is not None:
        found = look(ConfigMap, chart.configMap.name)
        if found is None:
            return f"ConfigMap {chart.configMap.name}, which spec.chart.configMap names, does not exist; create it"
        if chart.configMap.key not in found.binaryData:
            return (
                f"ConfigMap {chart.configMap.name} has no {chart.configMap.key} in its binaryData; put the packaged "
                "chart there (kubectl create configmap --from-file)"
            )
    if chart.pullSecret and not text_of(look(Secret, chart.pullSecret), LOGIN):
        return (
            f"Secret {chart.pullSecret}, which spec.chart.pullSecret names, does not exist or has no {LOGIN}; "
            "create it (kubectl create secret docker-registry)"
        )
    return ""


async def folder(service: Service[Any, Any], resource: CustomResource, look: Look, environment: Environment) -> Path:
    """Return the folder of the chart to render; what an adapter raises about a user's own chart is raised as it is."""
    chart = source(resource)
    if chart is None:
        return environment.charts / service.chart_name
    packages = environment.renderer.packages
    try:
        if chart.configMap is not None:
            found = look(ConfigMap, chart.configMap.name)
            return await packages.unpacked(decode(found.binaryData[chart.configMap.key] if found else "") or b"")
        login = text_of(look(Secret, chart.pullSecret), LOGIN) or "" if chart.pullSecret else ""
        return await packages.pulled(chart.oci or "", credentials=login, plain_http=bool(chart.plainHTTP))
    except Rejected as error:
        raise Rejected(f"spec.chart: {chart}: {error}") from error


def refuse_foreign(
    resource: CustomResource, theirs: Rendered, ours: Rendered, context: Context, condition: str
) -> None:
    """Raise Blocked if a user's own chart renders something that it may not; ours is known not to."""
    charts = [
        release.Chart(rendered.objects, resource.metadata.name, resource.metadata.namespace)
        for rendered in (theirs, ours)
    ]
    problems = [sentence for body in theirs.objects if (sentence := _problem(resource, body, context))]
    problems.extend(sentence for body in theirs.objects if (sentence := _volumes(resource, body, context)))
    problems.extend(release.problems(*charts))
    if problems:
        more = f"; and {len(problems) - NAMED} more" if len(problems) > NAMED else ""
        raise Blocked(
            f"the chart of {describe_source(resource)} renders {'; '.join(problems[:NAMED])}{more}",
            reason=REASON,
            condition=condition,
        )


def _problem(resource: CustomResource, body: JsonObject, context: Context) -> str:
    """Return why an object may not be of the release; "" where it may."""
    metadata = body.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name, place = metadata.get("name", ""), resource.metadata.namespace
    what = f"{body.get('kind')} {name or 'without a name'}"
    if not release.is_known(body):
        kinds = ", ".join(sorted(kind.kind.name for kind in release.KINDS))
        return f"{what} of {body.get('apiVersion')}, which the operator does not apply; it applies {kinds}"
    if metadata.get("namespace", place) != place:
        return f"{what} for namespace {metadata['namespace']}; remove the namespace: everything is in {place}"
    present = context.store(release.type_of(body)).get(Key(place, name)) if name else None
    if present is None or labels.belongs(present, resource):
        return "" if name else f"{what}; give it one"
    owner = _whose(present)
    return "" if owner == f"release {resource.metadata.name}" else f"{what}, which is of {owner}; give it another name"


def _volumes(resource: CustomResource, body: JsonObject, context: Context) -> str:
    """Return why a new StatefulSet may not be of the release: volumes of others are there that it would take."""
    name, place = bodies.name_of(body), resource.metadata.namespace
    present = context.store(StatefulSet).get(Key(place, name))
    if body.get("kind") != "StatefulSet" or (present is not None and labels.belongs(present, resource)):
        return ""
    there = {each.metadata.name: each for each in context.store(PersistentVolumeClaim).list(place)}
    for volume in bodies.items(bodies.field(body, "spec"), "volumeClaimTemplates"):
        for claim in sorted(each for each in there if bodies.is_volume_of(each, volume, name)):
            if keeper := ownership.keeper_of(there[claim], resource):
                return f"StatefulSet {name} with the volume {claim}, which is of {keeper}; give it another name"
    return ""


def _whose(present: Resource) -> str:
    """Return to whom an object belongs that is there already."""
    controller = present.metadata.controller
    if controller is not None:
        return f"{controller.kind} {controller.name}"
    named = release.release_of(present)
    return f"release {named}" if named else "somebody else"
