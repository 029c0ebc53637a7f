"""What would go wrong with a deployment, found out before it: one module for each thing to check.

The rule of this folder: `imagined_cloud` says what a cloud would become, `state` reads what is there, the checks are
pure functions of both, and `suite` has them in order. What cannot be known is said, and never guessed.
"""
