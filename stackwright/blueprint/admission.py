"""What is checked in the snippets of configuration that users write into resources. Pure.

Admission asks it early, and every controller that reads a snippet asks again: a webhook may have been down.
"""

import typing
from collections.abc import Iterator
from typing import Annotated

import msgspec

from stackwright.api.snippets import SnippetFormat
from stackwright.api.start import KollaConfig
from stackwright.blueprint import ini, my_cnf, policy_files, start, structs, text_lengths
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.kube.resource import CustomResource, R

# The fields in which a user brings configuration of his own.
SNIPPET = "customServiceConfig"
OVERWRITE = "defaultConfigOverwrite"
START = "kollaConfig"


def problems(resource: CustomResource) -> tuple[tuple[str, str], ...]:
    """Return the path of every snippet that its service could not read, with a sentence that says why."""
    spec = getattr(resource, "spec", None)
    found = ((path, _problem(kind, text)) for path, kind, text in snippets("spec", spec))
    broken = tuple((path, str(problem)) for path, problem in found if problem is not None)
    too_long = text_lengths.problems(resource, (SNIPPET, OVERWRITE))
    return (*broken, *too_long, *_unreadable_policies(spec), *_misstarted(spec))


def _unreadable_policies(spec: object) -> Iterator[tuple[str, str]]:
    """Yield the files with policies that no service could read."""
    for path, files in fields_called("spec", spec, OVERWRITE):
        for name, text in files.items() if isinstance(files, dict) else ():
            # What is too long is refused anyway, and would only cost time.
            if name.endswith(policy_files.NAMES) and text_lengths.size(text) <= text_lengths.LONGEST:
                sentence = policy_files.problem(text)
                if sentence:
                    yield f"{path}[{name}]", sentence


def _misstarted(spec: object) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a component's own config.json."""
    names = {name for _, files in fields_called("spec", spec, OVERWRITE) if isinstance(files, dict) for name in files}
    for path, own in fields_called("spec", spec, START):
        if own is not None:
            # In a template of the umbrella it is a type of its own, with the same fields.
            said = msgspec.convert(msgspec.to_builtins(own), KollaConfig)
            yield from ((f"{path}.{place}", sentence) for place, sentence in start.problems(said, names))


def check(old: R | None, new: R) -> Objections:  # noqa: ARG001  the form of a webhook's function
    """Return the problems as admission tells them; the text itself may hold a secret and is not repeated."""
    if not isinstance(new, CustomResource):
        return Objections()
    return Objections(errors=tuple(FieldError(path, sentence) for path, sentence in problems(new)))


def _problem(kind: SnippetFormat, text: str) -> ini.Problem | None:
    if kind is SnippetFormat.MY_CNF:
        return my_cnf.problem(text)
    parsed = ini.parse(text)
    return parsed if isinstance(parsed, ini.Problem) else None


def snippets(path: str, value: object) -> Iterator[tuple[str, SnippetFormat, str]]:
    """Yield path, format and text of every snippet in a value, as deep as it goes."""
    for at, struct in structs.structured(path, value):
        text = getattr(struct, SNIPPET, None)
        if isinstance(text, str):
            yield f"{at}.{SNIPPET}", _format(type(struct)), text


def fields_called(path: str, value: object, name: str) -> Iterator[tuple[str, object]]:
    """Yield path and value of every field of that name in a value, as deep as it goes."""
    for at, struct in structs.structured(path, value):
        if name in struct.__struct_fields__:
            yield f"{at}.{name}", getattr(struct, name)


def _format(struct: type[msgspec.Struct]) -> SnippetFormat:
    annotation = structs.hints(struct)[SNIPPET]
    markers = typing.get_args(annotation)[1:] if typing.get_origin(annotation) is Annotated else ()
    return next((marker for marker in markers if isinstance(marker, SnippetFormat)), SnippetFormat.OSLO)
