"""What a process tells Prometheus, under controller-runtime's names so that existing dashboards fit.

Every metric is a plain module-level name. Looking up a child by its labels costs three times what counting
does, so code that counts often takes its children once: `queue(name)` and `controller(name)` return them.
"""

from dataclasses import dataclass
from functools import cache

from prometheus_client import Counter, Gauge, Histogram, disable_created_metrics

# Otherwise each counter would have a second series with its creation time, which nobody reads.
disable_created_metrics()  # type: ignore[no-untyped-call]  # the library has no types there

# The buckets are those of controller-runtime and client-go: quantiles of different operators can be compared.
_RECONCILE_BUCKETS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60),
)
_QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))

reconcile_total = Counter(
    "controller_runtime_reconcile_total",
    "Reconciles by controller and result: success, requeue, requeue_after or error.",
    ("controller", "result"),
)
reconcile_errors_total = Counter(
    "controller_runtime_reconcile_errors_total",
    "Reconciles that ended with an error.",
    ("controller",),
)
terminal_reconcile_errors_total = Counter(
    "controller_runtime_terminal_reconcile_errors_total",
    "Reconciles that ended with an error that only the user can fix.",
    ("controller",),
)
reconcile_panics_total = Counter(
    "controller_runtime_reconcile_panics_total",
    "Reconciles that ended with an unexpected exception: a bug.",
    ("controller",),
)
reconcile_timeouts_total = Counter(
    "controller_runtime_reconcile_timeouts_total",
    "Reconciles that were stopped at their deadline.",
    ("controller",),
)
reconcile_time_seconds = Histogram(
    "controller_runtime_reconcile_time_seconds",
    "How long a reconcile takes.",
    ("controller",),
    buckets=_RECONCILE_BUCKETS,
)
max_concurrent_reconciles = Gauge(
    "controller_runtime_max_concurrent_reconciles",
    "How many reconciles of a controller may run at once.",
    ("controller",),
)
active_workers = Gauge(
    "controller_runtime_active_workers",
    "How many reconciles of a controller run now.",
    ("controller",),
)

workqueue_depth = Gauge(
    "workqueue_depth",
    "How many keys wait in the queue.",
    ("name", "controller"),
)
workqueue_adds_total = Counter(
    "workqueue_adds_total",
    "How many keys were added to the queue.",
    ("name", "controller"),
)
workqueue_queue_duration_seconds = Histogram(
    "workqueue_queue_duration_seconds",
    "How long a key waits in the queue before it is processed.",
    ("name", "controller"),
    buckets=_QUEUE_BUCKETS,
)
workqueue_work_duration_seconds = Histogram(
    "workqueue_work_duration_seconds",
    "How long a key is processed.",
    ("name", "controller"),
    buckets=_QUEUE_BUCKETS,
)
workqueue_retries_total = Counter(
    "workqueue_retries_total",
    "How many times a key was added again after a failure.",
    ("name", "controller"),
)
workqueue_unfinished_work_seconds = Gauge(
    "workqueue_unfinished_work_seconds",
    "The total time for which current keys have been in process; a growing value means a stuck worker.",
    ("name", "controller"),
)
workqueue_longest_running_processor_seconds = Gauge(
    "workqueue_longest_running_processor_seconds",
    "How long the longest running worker has been running.",
    ("name", "controller"),
)

rest_client_requests_total = Counter(
    "rest_client_requests_total",
    "Requests to the API server by status code, method and host; the code is <error> where no answer came.",
    ("code", "method", "host"),
)
undecodable_objects_total = Counter(
    "undecodable_objects_total",
    "Objects of lists and watches that were left out because they do not fit their type.",
    ("kind",),
)
informer_relists_total = Counter(
    "informer_relists_total",
    "How many times a cache was listed again, and why.",
    ("kind", "reason"),
)
informer_objects = Gauge(
    "informer_objects",
    "How many objects a cache holds.",
    ("kind",),
)

webhook_requests_total = Counter(
    "controller_runtime_webhook_requests_total",
    "Admission requests by path and status code.",
    ("webhook", "code"),
)
webhook_requests_in_flight = Gauge(
    "controller_runtime_webhook_requests_in_flight",
    "Admission requests that are being answered now.",
    ("webhook",),
)
webhook_latency_seconds = Histogram(
    "controller_runtime_webhook_latency_seconds",
    "How long an admission request takes.",
    ("webhook",),
)
webhook_certificate_expiry_seconds = Gauge(
    "webhook_certificate_expiry_timestamp_seconds",
    "When the serving certificate of the webhooks expires, in seconds since 1970.",
)

leader_election_master_status = Gauge(
    "leader_election_master_status",
    "1 while this process holds the lease of that name, else 0.",
    ("name",),
)
event_loop_lag_seconds = Gauge(
    "event_loop_lag_seconds",
    "How late a timer of the event loop fired at worst in the last 30 seconds; work that blocks shows here.",
)
events_total = Counter(
    "events_total",
    "Events by result: created, counted (in a series), limited, dropped or failed.",
    ("outcome",),
)


@dataclass(frozen=True, slots=True)
class QueueMetrics:
    """The children of one queue."""

    depth: Gauge
    adds: Counter
    queue_duration: Histogram
    work_duration: Histogram
    retries: Counter
    unfinished: Gauge
    longest: Gauge


@cache
def queue(name: str) -> QueueMetrics:
    """Return the children of the queue `name`; as in controller-runtime it is also the controller's label."""
    return QueueMetrics(
        depth=workqueue_depth.labels(name, name),
        adds=workqueue_adds_total.labels(name, name),
        queue_duration=workqueue_queue_duration_seconds.labels(name, name),
        work_duration=workqueue_work_duration_seconds.labels(name, name),
        retries=workqueue_retries_total.labels(name, name),
        unfinished=workqueue_unfinished_work_seconds.labels(name, name),
        longest=workqueue_longest_running_processor_seconds.labels(name, name),
    )


@dataclass(frozen=True, slots=True)
class ControllerMetrics:
    """The children of one controller."""

    success: Counter
    requeue: Counter
    requeue_after: Counter
    error: Counter
    errors: Counter
    terminal_errors: Counter
    panics: Counter
    timeouts: Counter
    time: Histogram
    max_concurrent: Gauge
    active_workers: Gauge


@cache
def controller(name: str) -> ControllerMetrics:
    """Return the children of the controller `name`."""
    return ControllerMetrics(
        success=reconcile_total.labels(name, "success"),
        requeue=reconcile_total.labels(name, "requeue"),
        requeue_after=reconcile_total.labels(name, "requeue_after"),
        error=reconcile_total.labels(name, "error"),
        errors=reconcile_errors_total.labels(name),
        terminal_errors=terminal_reconcile_errors_total.labels(name),
        panics=reconcile_panics_total.labels(name),
        timeouts=reconcile_timeouts_total.labels(name),
        time=reconcile_time_seconds.labels(name),
        max_concurrent=max_concurrent_reconciles.labels(name),
        active_workers=active_workers.labels(name),
    )


@cache
def request(code: str, method: str, host: str) -> Counter:
    """Return the child that counts requests of one outcome."""
    return rest_client_requests_total.labels(code, method, host)
