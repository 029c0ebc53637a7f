"""An agent for nodes that nobody knows: its kind, its row, its playbook with a role. Nothing outside speaks of it."""
