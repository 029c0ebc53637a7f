"""Which Keystone a resource is registered with, and how its administrator logs in there."""

from dataclasses import dataclass, field

from stackwright.adapters.errors import AdapterError
from stackwright.adapters.identity import Credentials
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.blueprint.secret_values import read_value
from stackwright.controllers import ownership
from stackwright.controllers.absent_servers import Absent, explained
from stackwright.controllers.looks import Looker
from stackwright.kube.builtin import Secret
from stackwright.kube.conditions import find, is_true
from stackwright.kube.errors import Blocked, Retry
from stackwright.kube.plan import Ends, Wait
from stackwright.services.keystone.kinds import KeystoneAPI

KEYSTONE_READY = "KeystoneAPIReady"
CLIENT_READY = "AdminServiceClientReady"
# Of a KeystoneAPI: that the administrator has the password of its Secret.
BOOTSTRAP_READY = "BootstrapReady"

# Seconds after which a Keystone that did not answer is asked again.
TRY_AGAIN = 5.0

Registered = KeystoneService | KeystoneEndpoint


@dataclass(frozen=True)
class Access:
    """A Keystone, and its administrator's login; `ready` is what its KeystoneAPI says of itself.

    While it is `bootstrapping`, the password of the login may not be the one that Keystone has. `cloud` tells ours from
    others that use the same Keystone; they may if it is `external`.
    """

    namespace: str
    name: str
    url: str
    region: str
    credentials: Credentials = field(repr=False)
    source: str
    ready: bool = True
    bootstrapping: bool = False
    cloud: str = ""
    external: bool = False

    def explain(self, error: AdapterError, condition: str = CLIENT_READY) -> Blocked | Retry:
        """Return an adapter's error as a reconcile raises it."""
        source = f"KeystoneAPI {self.name} takes the password from {self.source}"
        return explained(error, condition, login=CLIENT_READY, source=source, again=TRY_AGAIN)


def find_keystone(resource: Registered, look: Looker) -> Access | Absent:
    """Return the Keystone of a resource, or why there is none to ask."""
    keystone = _choose(resource, look.all(KeystoneAPI))
    if isinstance(keystone, Absent):
        return keystone
    # While it only rolls, what is registered with it already can still be looked after.
    return access_of(keystone, look, rolling=resource.status.keystoneInstance == keystone.metadata.name)


def access_of(keystone: KeystoneAPI, look: Looker, *, rolling: bool = True) -> Access | Absent:
    """Return the way into a Keystone, or why there is none; with `rolling` also while it is not ready."""
    name = keystone.metadata.name
    if keystone.deleting:
        return Absent(Wait("KeystoneGoing", f"KeystoneAPI {name} is being deleted", KEYSTONE_READY))
    ready = is_true(keystone.status.conditions)
    url = keystone.status.apiEndpoints.get("internal", "")
    if not url or not (ready or rolling):
        return Absent(not_ready(name))
    secret, key = keystone.spec.secret, keystone.spec.passwordSelectors.admin
    password = read_value(look(Secret, secret), secret, key, CLIENT_READY)
    if isinstance(password, Wait):
        return Absent(password)
    bootstrap = find(keystone.status.conditions, BOOTSTRAP_READY)
    return Access(
        namespace=keystone.metadata.namespace,
        name=name,
        url=url,
        region=keystone.status.region or keystone.spec.region_name,
        credentials=Credentials(keystone.spec.adminUser, password, keystone.spec.adminProject),
        source=f"Secret {secret}, key {key}",
        ready=ready,
        cloud=keystone.metadata.uid,
        external=keystone.spec.externalKeystoneAPI,
        bootstrapping=bootstrap is not None and bootstrap.status == "False",
    )


def not_ready(name: str) -> Wait:
    """Return the wait for a Keystone that is there and does not serve yet."""
    return Wait("KeystoneNotReady", f"KeystoneAPI {name} is not ready yet", KEYSTONE_READY)


def _choose(resource: Registered, found: list[KeystoneAPI]) -> KeystoneAPI | Absent:
    """Return the KeystoneAPI that is named, or was chosen before, or is the only one."""
    by_name = {keystone.metadata.name: keystone for keystone in found}
    before = resource.status.keystoneInstance
    named = resource.spec.keystoneInstance
    if not named and before in by_name:
        named = before
    if named:
        message = f"spec.keystoneInstance: KeystoneAPI {named} does not exist; create it, or correct the name"
        return by_name.get(named) or Absent(Wait("KeystoneMissing", message, KEYSTONE_READY, ends=Ends.BY_AUTHOR))
    # A second KeystoneAPI that is refused does not stop resources that name none.
    names = sorted(keystone.metadata.name for keystone in ownership.serving(found))
    if len(names) > 1:
        message = f"There are several KeystoneAPIs: set spec.keystoneInstance to one of {', '.join(names)}"
        raise Blocked(message, reason="KeystoneAmbiguous", condition=KEYSTONE_READY)
    if names:
        return by_name[names[0]]
    message = f"There is no KeystoneAPI in namespace {resource.metadata.namespace} yet; create one"
    return Absent(Wait("KeystoneMissing", message, KEYSTONE_READY, ends=Ends.BY_AUTHOR))
