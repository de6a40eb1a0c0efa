"""The `djnet` command, and how every command starts and ends."""
