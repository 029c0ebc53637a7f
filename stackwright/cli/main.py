"""The program `stackwright`: finds its commands by name and turns our errors into sentences."""

import importlib
import importlib.metadata
import os
import sys

import click
from click.shell_completion import CompletionItem

from stackwright.cli import exit_codes

# The variable by which a shell's function asks for completions.
COMPLETING = "_STACKWRIGHT_COMPLETE"

# Each command's place, and what it says of itself: a command is imported when it runs, not to be listed.
COMMANDS = {
    "action": ("stackwright.cli.commands.action:action", "Run an action of an operator once, and show its result."),
    "check": ("stackwright.cli.commands.check:check", "Find problems before a deployment."),
    "chart": ("stackwright.cli.commands.chart:chart", "Package the charts."),
    "completion": (
        "stackwright.cli.commands.completion:completion",
        "Print a shell completion script.",
    ),
    "config": (
        "stackwright.cli.commands.config:config",
        "Import your own configuration, or upstream's node sets.",
    ),
    "crds": ("stackwright.cli.commands.crds:crds", "Print the CustomResourceDefinitions as YAML, or install them."),
    "explain": (
        "stackwright.cli.commands.explain:explain",
        "Say what a resource waits for, down to the pod.",
    ),
    "give": ("stackwright.cli.commands.handover:give", "Hand a service's Helm release over to manual use of helm."),
    "image": (
        "stackwright.cli.commands.image:image",
        "Build the container images, and load or push them.",
    ),
    "logs": ("stackwright.cli.commands.logs:logs", "Print the logs of the pods behind a resource."),
    "openrc": ("stackwright.cli.commands.openrc:openrc", "Print the administrator's login."),
    "operator": ("stackwright.cli.commands.operator:operator", "Run the controllers of all services, or of some."),
    "render": ("stackwright.cli.commands.render:render", "Print the manifests of a resource, to install them by hand."),
    "status": (
        "stackwright.cli.commands.status:status",
        "Show a cloud as a tree: what is ready, and what waits for what.",
    ),
    "take": ("stackwright.cli.commands.handover:take", "Revert what others changed by hand, after showing it."),
    "up": ("stackwright.cli.commands.up:up", "Start a Kubernetes on this machine with a cloud in it."),
    "down": ("stackwright.cli.commands.up:down", "Remove the cluster on this machine and the cloud in it."),
    "validate": ("stackwright.cli.commands.validate:validate", "Test a cloud with Tempest, OpenStack's own tests."),
    "local": ("stackwright.cli.commands.local:local", "Run Kubernetes on this machine."),
}


class LazyGroup(click.Group):
    """A group of commands that are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*COMMANDS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name, importing its module."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        return command if isinstance(command, click.Command) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin so, without importing them."""
        if not incomplete or incomplete[0].isalnum():
            names = self.list_commands(ctx)
            return [CompletionItem(name, help=COMMANDS[name][1]) for name in names if name.startswith(incomplete)]
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx) if name in COMMANDS])


@click.group(cls=LazyGroup, epilog=exit_codes.TABLE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(importlib.metadata.version("stackwright"), prog_name="stackwright")
def cli() -> None:
    """Build and run OpenStack on Kubernetes."""


def main() -> None:
    """Run the command line; `exit_codes` says how it ends."""
    if COMPLETING not in os.environ and not {"-h", "--help"} & set(sys.argv):
        from stackwright.cli import log_lines  # noqa: PLC0415  a help text logs nothing

        log_lines.only_warnings()
    try:
        # Whoever asked for an exit code gets it back as a value, and not as an exception.
        code = cli(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else exit_codes.DONE)
    except click.exceptions.Abort:
        sys.exit(exit_codes.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(exit_codes.INTERRUPTED)
    except RuntimeError as error:
        # So pathlib says that it has no answer for `~`.
        if "home directory" not in str(error):
            raise
        click.echo("Error: This user has no home directory; set HOME to a directory that it may write to.", err=True)
        sys.exit(exit_codes.FAILED)
    except Exception as error:
        told = sentence(error)
        if not told:
            raise
        click.echo(f"Error: {told}", err=True)
        sys.exit(exit_codes.FAILED)


def is_ours(error: Exception) -> bool:
    """Return whether an error is one that we raise on purpose, with a sentence for the user in it."""
    from stackwright.kube.errors import KubeError  # noqa: PLC0415  only a failed command pays for the import
    from stackwright.local.errors import LocalError  # noqa: PLC0415  likewise

    return isinstance(error, KubeError | LocalError)


def sentence(error: Exception) -> str:
    """Return what a user is told of an error; nothing of a bug, which needs its traceback."""
    if is_ours(error):
        return str(error)
    # What this machine refuses: a file, a full disk. A timeout of our own is an OSError too, and has no such words.
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(str(word) for word in (error.filename, error.strerror) if word)
    return ""
