"""The form in which a message keeps its receipt: without the ids, which its summary has."""

import json
import zlib
from dataclasses import asdict, replace

from app.fields import Fields, parsed
from app.receipts import Receipt, verdict_from
from app.records import UnreadableError
from engine.origin import Written


def packed_receipt(receipt: Receipt) -> bytes:
    """A receipt as compressed JSON, with a CRC-32 of it at the end."""
    plain = asdict(replace(receipt, written=None)) | {"ids_sha256": receipt.ids_sha256}
    body = zlib.compress(json.dumps(plain).encode())
    return body + zlib.crc32(body).to_bytes(4, "little")


def unpacked_receipt(body: bytes, written: Written | None) -> Receipt:
    """The receipt of the reply `written`, which is None where that is not known.

    Raises:
        UnreadableError: it is not what was written, or the receipt of something else.
    """
    if len(body) < 4 or zlib.crc32(body[:-4]) != int.from_bytes(body[-4:], "little"):
        raise UnreadableError("A receipt whose checksum is wrong.")
    try:
        fields = Fields(parsed(zlib.decompress(body[:-4])))
    except (zlib.error, ValueError) as error:
        raise UnreadableError(f"A receipt: {error}") from error
    receipt = replace(verdict_from(fields), written=written)
    if fields.complaints:
        raise UnreadableError(f"A receipt: {fields.complaints[0]}")
    if written is not None and fields.text("ids_sha256") != receipt.ids_sha256:
        raise UnreadableError("The receipt of something else.")
    return receipt
