"""The inspector: what drafting did, what the model takes, and how exact it is here."""
