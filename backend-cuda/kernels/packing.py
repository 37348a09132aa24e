"""How images are compressed: one LZ4 block behind the length of the image, 4 bytes, low byte first.

`src/packed.rs` decompresses them. Another version of the package may write other blocks for the same
image, so checks compare the images and not the blocks.
"""

import lz4.block


def pack(image, dictionary=b""):
    """A block; what reads it needs the same dictionary."""
    return lz4.block.compress(image, mode="high_compression", compression=12, dict=dictionary)


def unpack(block, dictionary=b""):
    """What `pack` was given."""
    return lz4.block.decompress(block, dict=dictionary)
