"""`stackwright completion`: what makes a shell complete our commands."""

import click
from click.shell_completion import get_completion_class

from stackwright.cli import exit_codes
from stackwright.cli.main import COMPLETING

PROGRAM = "stackwright"
SHELLS = ("bash", "zsh", "fish")


@click.command(epilog=exit_codes.TABLE)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell completion script.

    \b
    bash:  source <(stackwright completion bash)          in ~/.bashrc
    zsh:   source <(stackwright completion zsh)           in ~/.zshrc
    fish:  stackwright completion fish | source           in ~/.config/fish/config.fish

    The names of resources come from the cluster, which has one second to answer.
    """  # noqa: D301  click keeps the lines after its mark as they are
    found = get_completion_class(shell)
    assert found is not None, "click knows the shells that we offer"  # noqa: S101  see SHELLS
    # The words alone: click's own printing asks a bash for its version, which need not be on this machine.
    maker = found(ctx.find_root().command, {}, PROGRAM, COMPLETING)
    click.echo(maker.source_template % maker.source_vars())
