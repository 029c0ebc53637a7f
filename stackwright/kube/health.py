"""What a process says of itself over HTTP: `/healthz`, `/readyz`, `/metrics`; and how late its event loop is.

Checks are named, cheap and synchronous: each says why it fails, or nothing. They answer as the API server's own
do: `/readyz?verbose` lists them, `/readyz/<name>` asks one, `?exclude=<name>` leaves one out.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import structlog
from aiohttp import web
from prometheus_client import REGISTRY
from prometheus_client.exposition import choose_encoder

from stackwright.kube import metrics
from stackwright.kube.clock import REAL, Clock

_log = structlog.get_logger()

# Returns why something is not healthy; an empty text if it is.
Check = Callable[[], str]


class HealthServer:
    """Answers probes and scrapes on an address, from entering the context to leaving it.

    A process is alive (`/healthz`) unless a restart would help it, and ready (`/readyz`) when it does its work.
    """

    def __init__(self, *, host: str = "0.0.0.0", port: int = 8080) -> None:  # noqa: S104  the kubelet comes from outside
        self.host = host
        self.port = port
        self._live: dict[str, Check] = {"ping": _well}
        self._ready: dict[str, Check] = {"ping": _well}
        self._notes: dict[str, str] = {}
        application = web.Application()
        for path, checks in (("/healthz", self._live), ("/readyz", self._ready)):
            application.router.add_get(path, _answer_all(path.lstrip("/"), checks, self._notes))
            application.router.add_get(path + "/{name}", _answer_one(checks))
        application.router.add_get("/metrics", _scrape)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)

    def live(self, name: str, check: Check) -> None:
        """Add a check to /healthz. When it fails, the kubelet restarts the process."""
        self._live[name] = check

    def ready(self, name: str, check: Check) -> None:
        """Add a check to /readyz."""
        self._ready[name] = check

    def note(self, name: str, sentence: str) -> None:
        """Add what somebody should know and no restart would mend: `?verbose` shows it, and no check fails by it."""
        self._notes[name] = sentence

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._runner.cleanup()


async def watch_lag(
    *, interval: float = 0.25, window: float = 30.0, threshold: float = 0.5, clock: Clock = REAL
) -> None:
    """Measure how late timers fire, until cancelled: `event_loop_lag_seconds` is the worst of the last `window`.

    Work that takes more than `threshold` seconds without giving way is said in one line: meanwhile nothing else
    of the process ran, its leases were not renewed and its webhooks did not answer.
    """
    late: deque[float] = deque(maxlen=max(1, round(window / interval)))
    while True:
        before = clock.monotonic()
        await clock.sleep(interval)
        lag = max(0.0, clock.monotonic() - before - interval)
        late.append(lag)
        metrics.event_loop_lag_seconds.set(max(late))
        if lag > threshold:
            _log.warning("the event loop was blocked", seconds=round(lag, 3))


def _well() -> str:
    return ""


def _examined(check: Check) -> str:
    """Return why a check fails, even if the check itself raises."""
    try:
        return check()
    except Exception as error:  # noqa: BLE001  a check that breaks is a check that fails; the probe must be answered
        _log.exception("a health check raised an exception")
        return f"the check itself failed: {type(error).__name__}"


def _answer_all(
    title: str, checks: dict[str, Check], notes: dict[str, str]
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        excluded = set(request.query.getall("exclude", ()))
        results = {name: _examined(check) for name, check in checks.items() if name not in excluded}
        failed = any(results.values())
        lines = [f"[-]{name} failed: {why}" if why else f"[+]{name} ok" for name, why in results.items()]
        lines += [f"[!]{name}: {sentence}" for name, sentence in notes.items()]
        lines.append(f"{title} check {'failed' if failed else 'passed'}")
        text = "\n".join(lines) + "\n" if failed or "verbose" in request.query else "ok"
        return web.Response(status=500 if failed else 200, text=text)

    return answer


def _answer_one(checks: dict[str, Check]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        check = checks.get(request.match_info["name"])
        if check is None:
            return web.Response(status=404, text="There is no check of that name.\n")
        why = _examined(check)
        return web.Response(status=500 if why else 200, text=f"{why}\n" if why else "ok")

    return answer


async def _scrape(request: web.Request) -> web.Response:
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return web.Response(body=encode(REGISTRY), headers={"Content-Type": content_type})
