"""What is said of a cloud while it is waited for."""

from collections.abc import Awaitable, Callable

from stackwright.cli.printing import cloud_report
from stackwright.foresight import tree
from stackwright.foresight.tree import Branch, State
from stackwright.local.progress import Progress


async def tell_until(
    ready: Callable[[tuple[Branch, ...]], bool],
    look: Callable[[], tuple[Branch, ...]],
    changed: Callable[[], Awaitable[None]],
    progress: Progress,
) -> None:
    """Say what changes in a tree until it is ready; what is ready from the start is not worth a line."""
    before: cloud_report.Sentences = cloud_report.describe(
        node for node in tree.flatten(look()) if node.state is State.READY and not node.children
    )
    while not ready(nodes := look()):
        after = cloud_report.describe(nodes)
        for line in cloud_report.compare(before, after):
            progress.say(line)
        before = after
        await changed()
