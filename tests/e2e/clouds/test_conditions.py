"""What a clean install told: each condition turned True once."""

from tests.e2e.cloud import Cloud
from tests.e2e.history import History


def test_each_condition_turns_true_once(cloud: Cloud) -> None:
    kinds = {name.split()[0] for name, _ in cloud.history.states}
    assert {"OpenStackControlPlane", "Galera", "Memcached", "KeystoneAPI", "MariaDBAccount"} <= kinds
    assert ("KeystoneAPI keystone", "BootstrapReady") in cloud.history.states
    assert cloud.history.restless() == {}


def test_a_condition_that_falls_back_is_found() -> None:
    history = History()
    for status in ("Unknown", "True", "False", "True"):
        body = {"type": "Ready", "status": status, "reason": "Because", "message": "so it is"}
        history.note({"kind": "Galera", "metadata": {"name": "one"}, "status": {"conditions": [body]}})
    assert len(history.restless()["Galera one", "Ready"]) == 4
