"""Which image each component runs: the image manifest, which a user overrides by a file of the same form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from stackwright.api import forms
from stackwright.kube.errors import ConfigError

REFERENCE = re.compile(forms.REFERENCE)


class Component(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a component's image is; exactly one of build, name and reference says it."""

    build: str = ""
    """The recipe in images/ that makes it."""
    name: str = ""
    """What it is called in the registry."""
    reference: str = ""
    """All of it: registry, name, and tag or digest."""
    registry: str = ""
    tag: str = ""
    digest: str = ""
    sudo: bool = False
    """Whether it starts through sudo, as Kolla's images do."""
    ours: bool = False
    """Whether it is built from the recipes of this release; so is every one that `build` names."""


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    registry: str = ""
    tag: str = ""
    components: dict[str, Component] = {}


@dataclass(frozen=True)
class ComponentImage:
    """The image that a component runs, and what it needs to start."""

    reference: str
    sudo: bool = False
    ours: bool = False
    """Whether it is built from the recipes of this release, so that the options of its service are known."""


def read(path: Path) -> Manifest:
    """Return the manifest that a file holds, or say what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: there is no such file; name one in the format of images/manifest.yaml.") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return parse(text, str(path))


def parse(text: str, label: str) -> Manifest:
    """Return the manifest that a text holds; `label` is how errors call it."""
    try:
        document: Any = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ConfigError(f"{label} is not YAML{f' (line {mark.line + 1})' if mark else ''}.") from error
    try:
        manifest = msgspec.convert(document or {}, Manifest)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{label}: {error}") from error
    for name, component in manifest.components.items():
        _check(name, component, label)
    return manifest


def _check(name: str, component: Component, label: str) -> None:
    at = f"{label}: components.{name}"
    said = [field for field in ("build", "name", "reference") if getattr(component, field)]
    if len(said) > 1:
        raise ConfigError(f"{at} has {' and '.join(said)}; give only one of them.")
    if not said and not (component.registry or component.tag or component.digest):
        raise ConfigError(f"{at} does not say which image it is; give name, reference or build.")
    if component.tag and component.digest:
        raise ConfigError(f"{at} has a tag and a digest; give only one of them.")
    if said in (["reference"], ["build"]) and (component.registry or component.tag or component.digest):
        raise ConfigError(f"{at} has a {said[0]}, which is complete; remove registry, tag and digest.")


def merge(below: Manifest, above: Manifest) -> Manifest:
    """Return a manifest in which what the upper one says goes before; a component is taken from one of them whole.

    A component of which the upper one says only registry, tag or digest keeps its name.
    """
    components = dict(below.components)
    for name, component in above.components.items():
        named = component.build or component.name or component.reference
        components[name] = component if named else msgspec.structs.replace(component, name=_name(components, name))
    if above.registry or above.tag:
        # A registry or a tag is for all components, including those that would be built here.
        for name, component in components.items():
            if component.build and name not in above.components:
                components[name] = Component(name=component.build)
    return Manifest(registry=above.registry or below.registry, tag=above.tag or below.tag, components=components)


def _name(components: Mapping[str, Component], name: str) -> str:
    known = components.get(name)
    return (known.name or known.build if known else "") or name


def resolve(manifest: Manifest, built: Mapping[str, str]) -> dict[str, ComponentImage]:
    """Return each component's image; `built` has the references of those that are made here, by their recipe."""
    return {
        name: ComponentImage(
            _reference(name, component, manifest, built), component.sudo, bool(component.build) or component.ours
        )
        for name, component in manifest.components.items()
    }


def _reference(name: str, component: Component, manifest: Manifest, built: Mapping[str, str]) -> str:
    if component.build:
        if component.build not in built:
            raise ConfigError(
                f"components.{name} should be built from {component.build}, which is not a recipe; "
                f"there are {', '.join(sorted(built))}."
            )
        return built[component.build]
    registry = component.registry or manifest.registry
    if not component.reference and not registry:
        raise ConfigError(f"components.{name} has a name and no registry; give a registry, there or for all.")
    tag = component.tag or ("" if component.digest else manifest.tag)
    reference = component.reference or registry.rstrip("/") + f"/{component.name}" + (f":{tag}" if tag else "")
    if component.digest:
        reference += f"@{component.digest}"
    if not REFERENCE.fullmatch(reference):
        raise ConfigError(f'components.{name} gives "{reference}", which is not an image reference.')
    if ":" not in reference.rpartition("/")[2]:
        raise ConfigError(f"components.{name} gives {reference} without a tag or a digest; give one, there or for all.")
    return reference
