"""`stackwright render`: what a resource becomes, to install the charts by hand."""

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from stackwright import services
from stackwright.adapters.helm import Renderer
from stackwright.api import paths
from stackwright.api.base import CustomResource
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.need import Outside
from stackwright.blueprint.service import Service
from stackwright.cli import artifacts, exit_codes, manifests, resource_names
from stackwright.cli.parameters import Server
from stackwright.controllers.service import Environment
from stackwright.controllers.translation import translated
from stackwright.foresight import imagined_release
from stackwright.foresight.imagined_release import Missing, Outcome
from stackwright.foresight.imagined_world import ImaginedWorld
from stackwright.kube import documents
from stackwright.kube.crd import generate
from stackwright.kube.resource import JsonObject, Resource

SECRETS, VALUES, MANIFESTS = "secrets", "values", "manifests"
# What the Secret with the passwords is called where no file says it.
PASSWORDS = "osp-secret"


@click.command(epilog=exit_codes.TABLE)
@click.argument("service")
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path, allow_dash=True),
    help="A file with the resource and the objects that it refers to; repeatable, - is standard input.",
)
@click.option("--secrets", "what", flag_value=SECRETS, default=True, help="Secrets and ConfigMaps (the default).")
@click.option("--values", "what", flag_value=VALUES, help="The values of the chart.")
@click.option("--manifests", "what", flag_value=MANIFESTS, help="Both: the Secrets, and the chart rendered by helm.")
@click.option("--release", default="", metavar="NAME", help="Only this release, where the resource has children.")
@click.option("-n", "--namespace", default="", help="The namespace. By default the one in the file, or openstack.")
@click.option("--image", default="", help="The image. By default that of the resource, or of the image manifest.")
@click.option("--database-host", default="", help="The host of the database. By default that of its Galera.")
@click.option("--database-port", type=click.IntRange(1, 65535), help="The database's port.")
@click.option(
    "--cache-server",
    "cache_servers",
    type=Server(),
    multiple=True,
    metavar="HOST:PORT",
    help="A memcached; repeatable.",
)
@click.option("--public-url", default="", help="The public endpoint, if only your cluster knows it.")
@click.option("--internal-url", default="", help="The internal endpoint.")
@click.option("--charts", type=click.Path(path_type=Path, file_okay=False), help="The folder of the charts.")
def render(  # noqa: PLR0913  its options
    *,
    service: str,
    files: tuple[Path, ...],
    what: str,
    release: str,
    namespace: str,
    image: str,
    database_host: str,
    database_port: int | None,
    cache_servers: tuple[str, ...],
    public_url: str,
    internal_url: str,
    charts: Path | None,
) -> None:
    """Print the manifests of a resource, to install them by hand. It needs no cluster.

    \b
    stackwright render keystone -f keystone.yaml > secrets.yaml
    kubectl apply -f secrets.yaml
    helm install keystone charts/keystone -n openstack \\
        -f <(stackwright render keystone -f keystone.yaml -f secrets.yaml --values)

    A resource that makes others, such as a parent of cells, is followed by these: by their Secrets, their values (a
    document for each release; --release picks one) and their manifests.

    Passwords and keys that are in no file are generated, new ones each time: keep what you applied, and pass it as a
    file the next time. They are printed in clear text, so be careful where you store them.
    """  # noqa: D301  click keeps the lines after its mark as they are
    blueprint = _blueprint(service)
    there = manifests.read(files)
    resource = with_urls(choose(blueprint, there), {"public": public_url, "internal": internal_url})
    place = namespace or resource.metadata.namespace or resource_names.DEFAULT_NAMESPACE
    # What an earlier call printed is in the namespace that the option names, and the resource in its own.
    if foreign := [why for item in there if (why := manifests.elsewhere(item, place, resource.metadata.namespace))]:
        raise manifests.BadManifest(*foreign)
    images = _images(blueprint, image or blueprint.asked_image(resource))
    environment = Environment(images, artifacts.charts(charts))
    outside = Outside(place, database_host, database_port or 0, cache_servers)
    beside = [item for item in there if item.key != resource.key or type(item) is not type(resource)]
    if what == MANIFESTS and getattr(resource.spec, "chart", None) is not None:
        message = "spec.chart names a chart of your own; give --values to `helm template` with that chart"
        raise click.UsageError(message)
    world = ImaginedWorld(outside)
    for item in beside:
        world.add(item)
    try:
        outcomes = imagined_release.imagine_all(blueprint, with_our_chart(resource), world, environment)
    except Missing as error:
        raise manifests.BadManifest(str(error)) from None
    chosen = select(outcomes, release)
    if what != SECRETS and not any(outcome.service.has_chart for outcome in chosen):
        raise click.UsageError(without_chart(chosen[0].resource, outcomes))
    if what == VALUES:
        _hint(outcomes)
        click.echo(values_text(chosen), nl=False)
        return
    objects: list[JsonObject] = []
    for outcome in chosen:
        objects += outcome.objects
        if what == MANIFESTS:
            objects += asyncio.run(_render_chart(environment.charts, place, outcome))
    if not objects:
        label = resource_names.label(chosen[0].resource)
        click.echo(f"{label} has neither Secrets nor ConfigMaps; --values and --manifests print its chart.", err=True)
    click.echo(generate.text(objects), nl=False)


def without_chart(resource: Any, outcomes: tuple[Outcome, ...]) -> str:
    """Return the sentence about a resource that only stands for its children. Pure."""
    kind, name = resource.kind.name, resource.metadata.name
    releases = ", ".join(outcome.resource.metadata.name for outcome in outcomes if outcome.service.has_chart)
    return f"{kind} {name} has no chart; its releases are {releases or 'none'}"


def select(outcomes: tuple[Outcome, ...], release: str) -> tuple[Outcome, ...]:
    """Return all outcomes, or that of the release of a name. Pure."""
    found = tuple(outcome for outcome in outcomes if not release or outcome.resource.metadata.name == release)
    if not found:
        names = ", ".join(outcome.resource.metadata.name for outcome in outcomes)
        raise click.BadParameter(f"there is no release {release}; there are {names}", param_hint="--release")
    return found


def values_text(outcomes: tuple[Outcome, ...]) -> str:
    """Return the values of one release, or of several as one document each, which names its release. Pure.

    A resource that only stands for its children is no release.
    """
    outcomes = tuple(outcome for outcome in outcomes if outcome.service.has_chart)
    texts = [yaml.dump(outcome.values, Dumper=documents.Dumper, sort_keys=True) for outcome in outcomes]
    if len(outcomes) == 1:
        return texts[0]
    return "".join(f"---\n{_headline(outcome)}\n{text}" for outcome, text in zip(outcomes, texts, strict=True))


def _headline(outcome: Outcome) -> str:
    kind, name = outcome.resource.kind.name, outcome.resource.metadata.name
    return f"# {kind} {name}: release {name} of the chart {outcome.service.chart_name}"


async def _render_chart(charts: Path, namespace: str, outcome: Outcome) -> list[JsonObject]:
    if not outcome.service.has_chart:
        return []
    chart, name = charts / outcome.service.chart_name, outcome.resource.metadata.name
    with translated():
        rendered = await Renderer(artifacts.helm()).render(chart, name, namespace, outcome.values)
    return [{**body, "metadata": {"namespace": namespace, **body["metadata"]}} for body in rendered.objects]


def _blueprint(word: str) -> Service[Any, Any]:
    known = {service.name: service for service in services.blueprints()}
    by_kind = {word: service for service in known.values() for word in resource_names.words_of(service.kind)}
    found = by_kind.get(word.lower())
    if found is None:
        others = (kind for kind in services.kinds() if word.lower() in resource_names.words_of(kind))
        message = next(map(no_service, others), f"there is no service {word}")
        raise click.BadParameter(f"{message}; there are {', '.join(known)}", param_hint="SERVICE")
    return found


def no_service(kind: type[CustomResource]) -> str:
    """Return the sentence about a kind of ours that is no service. Pure."""
    name, word = kind.kind.name, kind.kind.name.lower()
    return (
        f"{name} has no chart: an operator acts on it directly, so there is nothing to install by hand. Its fields "
        f"are in docs/reference/{word}.md, `stackwright check -f FILE` checks one, and `kubectl describe {word} NAME` "
        "shows what became of it. To install by hand, name a service"
    )


def choose(blueprint: Service[Any, Any], there: list[Resource]) -> Any:
    """Return the resource of a service in the files; without any file, the one that the umbrella would make. Pure."""
    kind = blueprint.kind
    found = [resource for resource in there if isinstance(resource, kind)]
    if len(found) > 1:
        names = ", ".join(resource.metadata.name for resource in found)
        raise manifests.BadManifest(f"The files have several {kind.kind.name}: {names}; leave one of them.")
    if found:
        return found[0]
    if others := [item for item in there if isinstance(item, CustomResource)]:
        names = ", ".join(f"{item.kind.name} {item.metadata.name}" for item in others)
        raise manifests.BadManifest(f"The files have no {kind.kind.name}; they have {names}.")
    return default_of(kind)


def default_of(kind: type[CustomResource]) -> Any:
    """Return a resource as the umbrella would make it where it says nothing of it. Pure."""
    found = services.part_of(kind)
    if found is None:
        raise manifests.BadManifest(f"Which {kind.kind.name} is meant? Name a file with -f.")
    _, part = found
    key = part.usual_keys[0]
    spec = part.fill({}, key, {"secret": PASSWORDS})
    return msgspec.convert({"metadata": {"name": part.name_of(key)}, "spec": spec}, kind)


def with_urls(resource: Any, urls: dict[str, str]) -> Any:
    """Return a resource that names its endpoints as a user said them. Pure."""
    said = {interface: url for interface, url in urls.items() if url}
    if not said:
        return resource
    body = msgspec.to_builtins(resource)
    for interface, url in said.items():
        place = ("spec", *_api_of(resource), "override", "service", interface, "endpointURL")
        body = paths.put(body, place, url)
    return msgspec.convert(body, type(resource))


def _api_of(resource: Any) -> paths.Steps:
    """Return where in a spec the template of the API stands that the catalog lists; nothing where it is the spec."""
    found, blueprint = services.part_of(type(resource)), services.blueprint_of(type(resource))
    if found is None or blueprint is None:
        return ()
    _, part = found
    listed = blueprint.listed_endpoint(resource) if part.apis else None
    return (part.apis, listed.name) if listed is not None else paths.split(part.api)


def with_our_chart(resource: Any) -> Any:
    """Return a resource without its own chart: the values are the same, and where the chart lies is no matter. Pure."""
    if getattr(resource.spec, "chart", None) is None:
        return resource
    return msgspec.structs.replace(resource, spec=msgspec.structs.replace(resource.spec, chart=None))


def _images(blueprint: Service[Any, Any], said: str) -> dict[str, ComponentImage]:
    """Return the images of a service and of its children: the one that was said, else those of the image manifest."""
    found = {}
    if blueprint.has_chart:
        found[blueprint.image_name] = ComponentImage(said or _image(blueprint.image_name))
    for kind in blueprint.owns:
        if (child := services.blueprint_of(kind)) is not None:
            # A child of the same image has the same as its parent.
            same = child.image_name == blueprint.image_name
            found = _images(child, said if same or not blueprint.has_chart else "") | found
    return found


def _image(component: str) -> str:
    found = artifacts.component_images().get(component)
    if found is None:
        raise click.BadParameter(f"the image manifest has no {component}; name one", param_hint="--image")
    return found.reference


def _hint(outcomes: tuple[Outcome, ...]) -> None:
    """Say that values and Secrets go together, where they were made apart."""
    if generated := [name for outcome in outcomes for name in outcome.generated]:
        names = ", ".join(generated)
        click.echo(f"No file has {names}: give those that you applied with -f, so that the hashes fit.", err=True)
