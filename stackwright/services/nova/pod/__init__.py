"""What runs in the pods of Nova's jobs, in Nova's own Python; nothing here imports it."""
