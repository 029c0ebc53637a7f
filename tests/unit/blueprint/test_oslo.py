"""What services say alike in their configuration."""

from stackwright.blueprint import oslo
from stackwright.blueprint.needs.broker import BrokerFacts


def test_nobodys_request_waits_forever_for_a_broker_that_is_away() -> None:
    section = oslo.notifications(BrokerFacts("rabbit://url"))["oslo_messaging_notifications"]
    assert section["transport_url"] == "rabbit://url"
    # Upstream's own default is -1: without an end.
    assert section["retry"] in range(1, 5)


def test_without_a_broker_nothing_is_notified() -> None:
    assert oslo.notifications(None) == {"oslo_messaging_notifications": {"driver": "noop"}}
