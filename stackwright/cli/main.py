"""The program `stackwright`: finds its commands by name and turns our errors into sentences."""

import importlib
import importlib.metadata
import sys

import click

# Each command's place, and what it says of itself: a command is imported when it runs, not to be listed.
COMMANDS = {
    "crds": ("stackwright.cli.crds:crds", "Print the CustomResourceDefinitions as YAML, or install them."),
    "image": (
        "stackwright.cli.image:image",
        "Build the container images and load them into the local cluster.",
    ),
    "up": ("stackwright.cli.up:up", "Bring up a Kubernetes on this machine with all images in it."),
    "local": ("stackwright.cli.local:local", "Run Kubernetes on this machine."),
}

FAILED = 1
INTERRUPTED = 130


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx) if name in COMMANDS])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(importlib.metadata.version("stackwright"), prog_name="stackwright")
def cli() -> None:
    """Build and run OpenStack on Kubernetes."""


def main() -> None:
    """Run the command line; exit with 0 for done, 1 for failed, 2 for a wrong call, 130 for interrupted."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as exit_request:
        sys.exit(exit_request.exit_code)
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:
        if not is_ours(error):
            raise
        click.echo(f"Error: {error}", err=True)
        sys.exit(FAILED)


def is_ours(error: Exception) -> bool:
    """Return whether an error is one that we raise on purpose, with a sentence for the user in it."""
    from stackwright.kube.errors import KubeError  # noqa: PLC0415  only a failed command pays for the import
    from stackwright.local.errors import LocalError  # noqa: PLC0415  likewise

    return isinstance(error, KubeError | LocalError)
