"""What the program does, without a window: conversations, models, settings, the terminal."""
