"""What runs in the pods of a name server; nothing here imports it."""
