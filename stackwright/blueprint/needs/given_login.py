"""A login to a Keystone that the spec describes itself: a kind that works alone needs no KeystoneAPI."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackwright.api import paths
from stackwright.api.annotations import EXPORTED
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.needs.need import Need, Places, Resolved
from stackwright.blueprint.places import url_place
from stackwright.blueprint.providers import Sight
from stackwright.blueprint.secret_values import read_value
from stackwright.kube.builtin import Secret
from stackwright.kube.plan import Ends, Wait

USUAL_REGION = "regionOne"


@dataclass(frozen=True, kw_only=True)
class GivenLogin(Need):
    """A login at the URL that stands at `url`, as the user at `user`.

    The password stands under `key` in the Secret that the field at `secret` names. `public_url` is where clients find
    Keystone; without it, or where it is empty, that is the same URL.
    """

    name: str = "identity"
    url: str = "keystoneAuthURL"
    public_url: str = ""
    region: str = "region"
    user: str = "serviceUser"
    secret: str = "secret"  # noqa: S105  the name of a field
    key_of_password: str = "ServicePassword"  # noqa: S105  the name of a key
    condition: str = "InputReady"

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return how to log in, once the Secret has the password."""
        spec, name = resource.spec, str(paths.find(resource.spec, self.secret))
        secret = sight(Secret, name)
        if secret is None:
            missing = f"Secret {name}, which spec.{self.secret} names, does not exist"
            message = f"{missing}; create it with the key {self.key_of_password}"
            return Resolved(ready=False, waits=(Wait("SecretMissing", message, self.condition, ends=Ends.BY_AUTHOR),))
        password = read_value(secret, name, self.key_of_password, self.condition)
        if isinstance(password, Wait):
            return Resolved(ready=False, waits=(password,))
        url = str(paths.find(spec, self.url))
        fact = IdentityFacts(
            url=url,
            public_url=str((paths.find(spec, self.public_url) if self.public_url else "") or url),
            region=str(paths.find(spec, self.region) or USUAL_REGION),
            user=str(paths.find(spec, self.user)),
            password=password,
            # Whoever hands it down sees to it that Keystone has it.
            by_user=EXPORTED not in secret.metadata.annotations,
        )
        return Resolved(ready=True, fact=fact)

    def used(self, resource: Any, sight: Sight) -> Iterator[Secret]:
        """Yield the Secret that it reads."""
        secret = sight(Secret, str(paths.find(resource.spec, self.secret)))
        if secret is not None:
            yield secret

    def places(self, fact: IdentityFacts) -> Places:
        """Return where Keystone is."""
        return (url_place(fact.url),)
