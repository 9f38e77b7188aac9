"""What may be asked of a running reply from any thread."""


class Controls:
    """Three wishes, set anywhere, read by the engine once per round and between prompt chunks.

    `stop` is read between the passes of a measurement too. `drafting` is None while the request's
    own setting holds; False switches every proposer off from the next round on, True switches them
    on again. `insist` likewise: True drafts on where plain decoding is faster, False may pause.
    """

    def __init__(self) -> None:
        self.stop = False
        self.drafting: bool | None = None
        self.insist: bool | None = None
