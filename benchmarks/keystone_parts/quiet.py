"""Whether a settled cloud is quiet: what the API server wrote down of minutes in which nobody touched anything."""

import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from rich.table import Table

from benchmarks.keystone_parts.cluster import Cluster, Request

# For how many seconds a cloud that is ready may still tidy up after itself.
SETTLING = 60.0
# Who is ours beside the pods of the cloud: the operators.
OPERATORS = "stackwright-system"
# These are kept by renewing them; who leads could not be told otherwise.
RENEWED = "leases"
# Questions that are asked by a POST, and change nothing.
QUESTIONS = ("tokenreviews", "subjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews")


def observe(cluster: Cluster, namespace: str, minutes: float) -> bool:
    """Watch a cloud that is ready for so many minutes, print what was written, and return whether it was quiet."""
    time.sleep(SETTLING)
    began = datetime.now(UTC)
    time.sleep(minutes * 60)
    seen = list(cluster.written_down(began, datetime.now(UTC)))
    loud = [request for request in seen if is_loud(request, (OPERATORS, namespace))]
    print(f"mutating requests of a settled cloud and its operators in {minutes:g} minutes: {len(loud)}", flush=True)
    for request in loud:
        print(f"  {request}")
    print("what else was written meanwhile, which is Kubernetes' own or a lease:")
    for line in summary(request for request in seen if request not in loud):
        print(f"  {line}", flush=True)
    return not loud


def is_loud(request: Request, namespaces: Iterable[str]) -> bool:
    """Return whether a request was made from one of these namespaces and changed something. Pure."""
    ours = tuple(f"system:serviceaccount:{name}:" for name in namespaces)
    return request.user.startswith(ours) and request.resource not in (RENEWED, *QUESTIONS)


def table(requests: Iterable[Request]) -> Table:
    """Return how often each object was written and how, the most frequent first. Pure."""
    listed = list(requests)
    made = Table(title=f"{len(listed)} writes", title_justify="left")
    made.add_column("times", justify="right")
    for column in ("verb", "resource", "subresource", "name", "answers"):
        made.add_column(column)
    counted = Counter((request.verb, request.resource, request.object) for request in listed)
    for (verb, resource, thing), count in counted.most_common():
        plural, _, part = resource.partition("/")
        like = (r for r in listed if (r.verb, r.resource, r.object) == (verb, resource, thing))
        answers = Counter(request.code for request in like)
        said = ", ".join(f"{code}" if times == count else f"{times} x {code}" for code, times in answers.items())
        made.add_row(str(count), verb, plural, part, thing, said)
    return made


def summary(requests: Iterable[Request]) -> list[str]:
    """Return how often each asked for what, the most frequent first. Pure."""
    counted = Counter(f"{request.user}: {request.verb} {request.resource}" for request in requests)
    return [f"{count} times {what}" for what, count in counted.most_common()]
