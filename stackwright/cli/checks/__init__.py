"""What would go wrong with a deployment, found out before it: plan, world, and one module for each thing to check.

The rule of this folder: `planning` says what a cloud would become, `world` reads what is there, and the checks are pure
functions of both. What cannot be known is said, and never guessed.
"""
