"""Put a container's configuration into place before its service starts, as Kolla's start contract says.

docs/start-contract.md tells what is read and written, and where this goes its own way. The rules of this folder: the
standard library alone (every image holds the folder as it stands, whatever Python from 3.9 on it has), and imports
relative to the folder, because it is not part of stackwright.
"""
