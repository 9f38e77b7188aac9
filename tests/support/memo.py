"""Measured gates, kept in memory instead of on disk."""


class Memo:
    """What `trust.GateMemo` asks for; `kept` is what was remembered, by key."""

    def __init__(self):
        self.kept = {}

    def recall(self, key):
        return self.kept.get(key)

    def remember(self, key, gate):
        self.kept[key] = gate
