"""The keys of rabbitmq.conf whose values a broker does not take as they come. Data, and how a value is read.

They are those of the schema of RabbitMQ 4.0 that people set: with a value of another type a broker ends instead of
starting. A key that is not here may have any value.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """What the value of a key looks like, in words and as a pattern."""

    words: str
    pattern: str

    def takes(self, value: str) -> bool:
        """Return whether a broker takes a value."""
        return re.fullmatch(self.pattern, value) is not None


def _one_of(*words: str) -> Form:
    return Form(f"is one of {', '.join(words)}", "|".join(map(re.escape, words)))


_WHOLE = r"[+-]?[0-9]+"
# A unit in the words of the broker's own check.
_UNIT = r"(?i:[kmgtp](i?b?)?)"
BOOLEAN = Form("is true or false", "true|false")
INTEGER = Form("is a whole number", _WHOLE)
POSITIVE = Form("is a whole number above 0", r"\+?0*[1-9][0-9]*")
FROM_ZERO = Form("is a whole number, and not below 0", r"\+?[0-9]+|-0+")
LIMIT = Form("is a whole number or infinity", f"{_WHOLE}|infinity")
# Erlang's own: there are digits on both sides of the point.
FRACTION = Form("is a number with a decimal point, such as 0.5", r"[+-]?[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?")
SIZE = Form("is a size, such as 500MB or 2GiB", rf"{_WHOLE}|[0-9]+(\.[0-9]+)?{_UNIT}")
BYTES = Form("is a number of bytes, or of KB, MB or GB", r"[+-]?([0-9]+|[0-9]*\.[0-9]+)(KB|kb|MB|mb|GB|gb)?")
LEVEL = _one_of("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency", "none")
# What is logged on its own level.
CATEGORIES = ("channel", "connection", "console", "default", "exchange", "federation", "mirroring", "queue", "ra")

FORMS: Mapping[str, Form] = {
    **{f"log.{name}.level": LEVEL for name in (*CATEGORIES, "syslog", "upgrade")},
    "background_gc_enabled": BOOLEAN,
    "background_gc_target_interval": INTEGER,
    "channel_max": INTEGER,
    "channel_max_per_node": LIMIT,
    "classic_queue.default_version": POSITIVE,
    "cluster_formation.discovery_retry_interval": POSITIVE,
    "cluster_formation.discovery_retry_limit": POSITIVE,
    "cluster_formation.target_cluster_size_hint": POSITIVE,
    "cluster_keepalive_interval": INTEGER,
    "cluster_partition_handling": _one_of("ignore", "pause_minority", "autoheal", "pause_if_all_down"),
    "cluster_queue_limit": LIMIT,
    "collect_statistics": _one_of("none", "coarse", "fine"),
    "collect_statistics_interval": INTEGER,
    "connection_max": LIMIT,
    "consumer_max_per_channel": LIMIT,
    "consumer_timeout": POSITIVE,
    "credential_validator.min_length": FROM_ZERO,
    "default_worker_pool_size": FROM_ZERO,
    "delegate_count": FROM_ZERO,
    "disk_free_limit.absolute": SIZE,
    "disk_free_limit.relative": FRACTION,
    "frame_max": BYTES,
    "handshake_timeout": LIMIT,
    "heartbeat": INTEGER,
    "initial_frame_max": BYTES,
    "link_max_per_session": POSITIVE,
    "log.console": BOOLEAN,
    "log.console.formatter": _one_of("plaintext", "json"),
    "log.exchange": BOOLEAN,
    "management.disable_stats": BOOLEAN,
    "management.enable_queue_totals": BOOLEAN,
    "management.http.max_body_size": FROM_ZERO,
    "management.login_session_timeout": FROM_ZERO,
    "management.rates_mode": _one_of("basic", "detailed", "none"),
    "management.tcp.idle_timeout": FROM_ZERO,
    "management.tcp.inactivity_timeout": FROM_ZERO,
    "management.tcp.port": INTEGER,
    "management.tcp.request_timeout": FROM_ZERO,
    "max_message_size": POSITIVE,
    "memory_monitor_interval": INTEGER,
    "mnesia_table_loading_retry_limit": INTEGER,
    "mnesia_table_loading_retry_timeout": INTEGER,
    "net_ticktime": POSITIVE,
    "num_acceptors.ssl": INTEGER,
    "num_acceptors.tcp": INTEGER,
    "prometheus.return_per_object_metrics": BOOLEAN,
    "prometheus.tcp.port": INTEGER,
    "proxy_protocol": BOOLEAN,
    "queue_index_embed_msgs_below": BYTES,
    "quorum_queue.continuous_membership_reconciliation.auto_remove": BOOLEAN,
    "quorum_queue.continuous_membership_reconciliation.enabled": BOOLEAN,
    "quorum_queue.continuous_membership_reconciliation.interval": FROM_ZERO,
    "quorum_queue.continuous_membership_reconciliation.target_group_size": FROM_ZERO,
    "quorum_queue.continuous_membership_reconciliation.trigger_interval": FROM_ZERO,
    "quorum_queue.property_equivalence.relaxed_checks_on_redeclaration": BOOLEAN,
    "raft.segment_max_entries": POSITIVE,
    "raft.snapshot_chunk_size": POSITIVE,
    "raft.wal_max_batch_size": POSITIVE,
    "raft.wal_max_entries": POSITIVE,
    "raft.wal_max_size_bytes": POSITIVE,
    "reverse_dns_lookups": BOOLEAN,
    "session_max_per_connection": POSITIVE,
    "ssl_handshake_timeout": INTEGER,
    "ssl_options.fail_if_no_peer_cert": BOOLEAN,
    "ssl_options.verify": _one_of("verify_peer", "verify_none"),
    "tcp_listen_options.backlog": INTEGER,
    "tcp_listen_options.buffer": INTEGER,
    "tcp_listen_options.exit_on_close": BOOLEAN,
    "tcp_listen_options.keepalive": BOOLEAN,
    "tcp_listen_options.linger.on": BOOLEAN,
    "tcp_listen_options.linger.timeout": FROM_ZERO,
    "tcp_listen_options.nodelay": BOOLEAN,
    "tcp_listen_options.recbuf": INTEGER,
    "tcp_listen_options.send_timeout": INTEGER,
    "tcp_listen_options.sndbuf": INTEGER,
    "vhost_max": LIMIT,
    "vm_memory_calculation_strategy": _one_of("rss", "erlang", "allocated", "legacy"),
    "vm_memory_high_watermark.absolute": SIZE,
    "vm_memory_high_watermark.relative": FRACTION,
    "vm_memory_high_watermark_paging_ratio": FRACTION,
}


def value_problem(name: str, said: str) -> str:
    """Return why a broker would not take what stands behind a key; empty if nothing is wrong. It shows no value."""
    form, value = FORMS.get(name), _read(said)
    # One value may stand for another: $(key).
    if form is None or value.startswith("$(") or form.takes(value):
        return ""
    return f"{name} {form.words}"


def _read(said: str) -> str:
    """Return a value without its quotes and the comment behind it."""
    if said.startswith("'"):
        return said.strip("'").partition("'")[0]
    return said.partition("#")[0].strip()
