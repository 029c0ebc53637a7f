"""How logs are written: always to standard error, because standard output belongs to the answer.

A program that runs for long writes short lines on a terminal, else one JSON object a line. A command says warnings.
"""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger


def configure(stream: TextIO | None = None, *, verbose: bool = False) -> None:
    """Send all logs of this process to a stream, those of foreign libraries too.

    A traceback is plain text: the renderings with variables in them cost the event loop seconds, and would show
    what no log may show.
    """
    stream = stream or sys.stderr
    level = logging.DEBUG if verbose else logging.INFO
    stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S" if stream.isatty() else "iso", utc=not stream.isatty())
    shared: list[Processor] = [structlog.contextvars.merge_contextvars, structlog.processors.add_log_level, stamp]
    renderers = _terminal() if stream.isatty() else _machine()
    structlog.configure(
        processors=[*shared, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    # What libraries tell of their daily work is nobody's news.
    root.setLevel(level if verbose else logging.WARNING)


def only_warnings() -> None:
    """Have a command say nothing of its daily work, and warnings on standard error.

    Libraries that use `logging` do so by themselves; structlog would print all there is to standard output.
    """
    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, structlog.processors.add_log_level, *_terminal()],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


def silence() -> None:
    """Have a command log nothing: it shows in its own words what there is to say."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


def _machine() -> list[Processor]:
    return [structlog.processors.format_exc_info, _named_message, structlog.processors.JSONRenderer()]


def _terminal() -> list[Processor]:
    plain = structlog.dev.plain_traceback
    return [structlog.dev.ConsoleRenderer(exception_formatter=plain, pad_event_to=0, colors=False)]


def _named_message(_: WrappedLogger, __: str, line: EventDict) -> EventDict:
    """Call the sentence `message`, as collectors of logs do, and put it first."""
    return {"message": line.pop("event", ""), **line}
