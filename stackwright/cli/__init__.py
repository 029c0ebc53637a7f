"""The command line: one file per noun. A command is loaded when it is called, so that each starts at once."""
