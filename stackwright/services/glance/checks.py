"""What is wrong with a Glance beyond what its schema can say."""

from collections.abc import Iterable, Mapping

from stackwright.blueprint import configuration, ini, placeholders
from stackwright.blueprint.apis import url_problems
from stackwright.blueprint.look import Look
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.service import Volume
from stackwright.blueprint.volume_sizes import largest, number, oversize, why_fixed
from stackwright.kube.builtin import PersistentVolumeClaim
from stackwright.services.glance import apis, images_left
from stackwright.services.glance.apis import Api
from stackwright.services.glance.kinds import Glance, GlanceAPITemplate

# The longest name of a Service.
LONGEST = 63

Problems = Iterable[tuple[str, str]]


def problems(resource: Glance, look: Look) -> Problems:
    """Yield the path of each field that cannot be, and what to do about it."""
    found = apis.of(resource)
    if not any(api.listed for api in found):
        sentence = "an edge API is not registered in Keystone; name one of type split or single, or add one"
        yield "spec.keystoneEndpoint", sentence
    if any(resource.spec.quotas.values()):
        yield "spec.quotas", "quotas are not supported yet; remove it"
    yield from _cache("spec", resource.spec.imageCache)
    yield from placeholders.problems("spec.customServiceConfig", resource.spec.customServiceConfig)
    yield from _names(resource, found)
    for volume in apis.volumes(resource):
        yield from _claim(volume, look(PersistentVolumeClaim, f"{resource.metadata.name}-{volume.name}"), look)
    yield from images_left.problems(resource, look)
    for api in found:
        path = f"spec.glanceAPIs[{api.name}]"
        yield from _store(path, api, resource)
        yield from _unsupported(path, api.template)
        yield from placeholders.problems(f"{path}.customServiceConfig", api.template.customServiceConfig)
        yield from url_problems(api.template.override.service, f"{path}.override.service", added="/v2")
        for name in api.template.defaultConfigOverwrite.keys() - resource.spec.defaultConfigOverwrite.keys():
            if sentence := configuration.file_problem(name) or configuration.generated_problem(name):
                yield f"{path}.defaultConfigOverwrite[{name}]", sentence


def _store(path: str, api: Api, resource: Glance) -> Problems:
    template = api.template
    if not api.external and not api.shared and template.replicas > 1:
        yield (
            f"{path}.replicas",
            f"{template.replicas} replicas would need a volume to which several nodes write; set replicas to 1, or "
            "storage.accessMode to ReadWriteMany with a storageClass that can do that, or storage.external to true "
            "with a store elsewhere",
        )
    secrets = (*resource.spec.customServiceConfigSecrets, *template.customServiceConfigSecrets)
    snippets = (resource.spec.customServiceConfig, template.customServiceConfig)
    if api.external and not secrets and not any(map(_names_a_store, snippets)):
        yield (
            f"{path}.storage.external",
            "then nothing says where images are stored; set enabled_backends in [DEFAULT] and default_backend in "
            "[glance_store] in customServiceConfig, or in a Secret of customServiceConfigSecrets",
        )


def _claim(volume: Volume, present: PersistentVolumeClaim | None, look: Look) -> Problems:
    """A volume that is there keeps what it is; a claim that says something else would be refused without a reason."""
    if present is None:
        return
    path, there = f"spec.glanceAPIs[{volume.name}].storage", f"PersistentVolumeClaim {present.metadata.name} is there"
    stays = "it stays so; add another of glanceAPIs, and copy the images there"
    modes = present.spec.get("accessModes") or ["ReadWriteOnce"]
    if volume.access_mode not in modes:
        yield f"{path}.accessMode", f"{there} already, with {modes[0]}; {stays}"
    found = present.spec.get("storageClassName", "")
    if volume.storage_class and found and volume.storage_class != found:
        yield f"{path}.storageClass", f"{there} already, of class {found}; {stays}"
    size = largest(present)
    why = why_fixed(present, look) if found and size and number(volume.size) > number(size) else ""
    if why:
        sentence = f"{there} already, with {size}, and cannot grow, because {why}"
        yield f"{path}.storageRequest", f"{sentence}, or add another of glanceAPIs"


def advice(resource: Glance, sight: Sight) -> Problems:
    """Yield the path of each field that is accepted with a warning, and the warning."""
    for volume in apis.volumes(resource):
        present = sight.look(PersistentVolumeClaim, f"{resource.metadata.name}-{volume.name}")
        if volume.size and present is not None:
            yield from oversize(f"spec.glanceAPIs[{volume.name}].storage.storageRequest", volume.size, present)


def _names_a_store(snippet: str) -> bool:
    parsed = ini.parse(snippet)
    return not isinstance(parsed, ini.Problem) and "enabled_backends" in parsed.get("DEFAULT", {})


def _names(resource: Glance, found: tuple[Api, ...]) -> Problems:
    """Components, jobs and files of a service are told apart by their names."""
    taken = {"db-sync", "db-purge", "load-metadefs", "db-create", "identity-create", "wait"}
    for api in found:
        path = f"spec.glanceAPIs[{api.name}]"
        if clash := taken & {component.name for component in api.components}:
            yield path, f"another part of Glance is called {min(clash)} already; give the API another name"
        taken |= {component.name for component in api.components}
        service = f"{resource.metadata.name}-{api.name}-internal"
        if len(service) > LONGEST:
            yield path, f"its Service would be called {service}, which is too long; give the API a shorter name"


def _unsupported(path: str, template: GlanceAPITemplate) -> Problems:
    yield from _cache(path, template.imageCache)
    if template.auth.applicationCredentialSecret:
        sentence = "application credentials are not supported yet; remove it, and the service's password is used"
        yield f"{path}.auth.applicationCredentialSecret", sentence


def _cache(path: str, said: Mapping[str, object]) -> Problems:
    # When a cache is cleaned says nothing where there is none.
    if said.get("size"):
        yield f"{path}.imageCache", "a cache of images is not supported yet; remove it"
