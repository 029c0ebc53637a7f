"""Programs that run in services' pods. They import nothing of ours: only their text leaves this folder."""
