"""Record batches.

Where to read:

    batch        a batch as a value
    codec        a batch as bytes, and back
    sizes        the bytes it takes, without encoding it
    checksum     CRC-32C
    compression  what a producer compressed, opened where times are looked up
"""
