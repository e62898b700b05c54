"""Record batches.

Where to read:

    batch        a batch as a value
    codec        a batch as bytes
    sizes        the bytes that a batch takes, without encoding it
    checksum     CRC-32C
    compression  decompression, for lookups by time
"""
