"""One conversation on screen: transcript, strip and composer."""
