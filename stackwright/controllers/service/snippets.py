"""Whether the snippets that a user keeps in Secrets set options to what the service takes. Pure."""

from collections.abc import Iterable

from stackwright.blueprint import options
from stackwright.blueprint.look import Look
from stackwright.blueprint.option_types import Options
from stackwright.blueprint.secret_values import text_of
from stackwright.kube.builtin import Secret


def problems(names: Iterable[str], known: Options, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the key of every Secret that sets an option to what the service would refuse, and what it takes."""
    for secret in filter(None, (look(Secret, name) for name in names)):
        for key in sorted(secret.data):
            for finding in options.check(known, text_of(secret, key) or ""):
                if finding.refused:
                    yield f"Secret {secret.metadata.name}, key {key}", finding.sentence
