"""A service's configuration as the Secret that its pods mount: its files, and a start contract for each part. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stackwright.api import paths
from stackwright.api.base import CustomResource
from stackwright.blueprint import ini, start
from stackwright.blueprint.digests import digest
from stackwright.blueprint.facts import Facts
from stackwright.blueprint.service import Component, ConfigFile, Job, Schedule, Service

# What may be a key of a Secret, and is not hidden or a directory.
_FILE_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
# How the files are called that are generated, and those with snippets: one of that name would take the place of ours.
_GENERATED = re.compile(
    r"01-[\w-]+\.conf|0[23]-[\w-]+-override\.conf|04-\d\d-.+\.conf|05-[\w-]+-metadata\.conf"
    r"|given|cells|application\.py|daemon\.py|login\.json"
)

C = TypeVar("C", bound=CustomResource)
F = TypeVar("F", bound=Facts)


def secret_name(resource: CustomResource, part: "Component[C, F] | Job[C, F] | Schedule[C, F] | None" = None) -> str:
    """Return the name of the Secret with a resource's configuration; a job may have one of its own."""
    own = part.secret if isinstance(part, Job) else ""
    return f"{resource.metadata.name}-{own or 'config-data'}"


def oslo_files(
    service: str,
    settings: Mapping[str, Mapping[str, Any]],
    *,
    custom: str,
    overwrite: Mapping[str, str],
    component: str = "",
) -> tuple[ConfigFile, ...]:
    """Return the files of a service that reads oslo.config's snippets in the order of their names: the user's last.

    Where components differ in what they read, each has a copy of its own, with its name before it.
    """
    directory = f"/etc/{service}/{service}.conf.d"
    generated, users = f"01-{service}.conf", f"02-{service}-override.conf"
    before = f"{component}-" if component else ""
    return (
        ConfigFile(f"{before}{generated}", ini.render(settings), f"{directory}/{generated}"),
        ConfigFile(f"{before}{users}", custom, f"{directory}/{users}"),
        *(
            ConfigFile(f"{before}{name}", content, f"/etc/{service}/{name}")
            for name, content in sorted(overwrite.items())
        ),
    )


def snippet_files(
    directory: str, rank: int, secrets: Iterable[str], content: Mapping[str, Mapping[str, str]], before: str = ""
) -> Iterable[ConfigFile]:
    """Yield a file for each snippet that the user keeps in Secrets; `rank` is the place of these among all files."""
    for position, secret in enumerate(secrets):
        for key, text in sorted(content[secret].items()):
            name = f"0{rank}-{position:02}-{secret}-{key.removesuffix('.conf')}.conf"
            yield ConfigFile(f"{before}{name}", text, f"{directory}/{name}")


def problems(service: Service[C, F], resource: C) -> Iterable[tuple[str, str]]:
    """Yield file names that cannot stand next to ours: a Secret refuses them, or they have another meaning."""
    overwrite: Mapping[str, str] = paths.find(resource, "spec.defaultConfigOverwrite") or {}
    parts: tuple[Component[C, F] | Job[C, F] | Schedule[C, F], ...] = (
        *service.components_of(resource),
        *service.jobs_of(resource),
        *service.schedules,
    )
    ours = {f"{part.name}.json" for part in parts}
    for name in overwrite:
        if sentence := file_problem(name) or generated_problem(name):
            yield f"spec.defaultConfigOverwrite[{name}]", sentence
        elif name in ours:
            yield f"spec.defaultConfigOverwrite[{name}]", "is the start configuration of a component; use another name"


def file_problem(name: str) -> str:
    """Return why a file next to ours cannot have a name; "" if it can."""
    if not _FILE_NAME.fullmatch(name):
        return "is not a file name; use letters, digits, dots, dashes and underscores, and no directories"
    return ""


def generated_problem(name: str) -> str:
    """Return why a file in the same Secret as ours cannot have a name; "" if it can."""
    if _GENERATED.fullmatch(name):
        return "is called like a file that is generated, and would replace it; set customServiceConfig, or rename it"
    return ""


@dataclass(frozen=True)
class Configured:
    """What a part (a component, a job or a schedule) reads at its start, and the Secret that has it."""

    secret: str
    data: Mapping[str, str] = field(repr=False)


def parts(service: Service[C, F], resource: C, facts: F) -> dict[str, Configured]:
    """Return what each part reads, by its name: its files, and its start contract as `<part>.json`."""
    found: dict[str, Configured] = {}
    for component in service.components_of(resource):
        if component.command is not None:
            files = tuple(component.files(resource, facts))
            contract = _contract(service, component, resource, files)
            found[component.name] = _configured(resource, component, files, contract)
    tasks: tuple[Job[C, F] | Schedule[C, F], ...] = (*service.jobs_of(resource), *service.schedules)
    for part in tasks:
        files = tuple(part.files(resource, facts))
        if isinstance(part, Job) and part.secret and not files:
            # A Secret of its own is written when its content is known, and not before that and again.
            continue
        contract = start.contract(part.command(resource), files, service.user)
        found[part.name] = _configured(resource, part, files, contract)
    return found


def _configured(
    resource: C, part: Component[C, F] | Job[C, F] | Schedule[C, F], files: tuple[ConfigFile, ...], contract: str
) -> Configured:
    data = {file.key: file.content for file in files} | {f"{part.name}.json": contract}
    return Configured(secret_name(resource, part), data)


def secrets(configured: Iterable[Configured]) -> dict[str, dict[str, str]]:
    """Return the configuration Secrets by name: each has all that its parts read."""
    found: dict[str, dict[str, str]] = {}
    for part in configured:
        found.setdefault(part.secret, {}).update(part.data)
    return found


def secret_data(service: Service[C, F], resource: C, facts: F) -> dict[str, str]:
    """Return the content of the Secret that a resource is configured by."""
    return secrets(parts(service, resource, facts).values()).get(secret_name(resource), {})


def component_hash(service: Service[C, F], component: Component[C, F], resource: C, facts: F) -> str:
    """Return a short name for all that a component's pods read at their start: another one rolls them."""
    files = tuple(component.files(resource, facts))
    read = {
        "contract": _contract(service, component, resource, files),
        "files": {file.key: file.content for file in files},
    }
    # What a process knows of its tables since its start is not true of others.
    identity = getattr(getattr(facts, "database", None), "identity", "")
    return digest(read | ({"schema": identity} if identity else {}))


def _contract(service: Service[C, F], component: Component[C, F], resource: C, files: tuple[ConfigFile, ...]) -> str:
    if component.command is None:
        return ""
    own = start.own_of(component.template(resource))
    return start.contract(component.command(resource), files, service.user, own)
