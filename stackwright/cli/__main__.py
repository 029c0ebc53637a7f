"""Runs the command line as `python -m stackwright.cli`."""

from stackwright.cli.main import main

main()
