from support.window import answered, in_window

__all__ = ["answered", "in_window"]
