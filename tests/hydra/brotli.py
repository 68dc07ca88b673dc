"""Bytes as channels pack their packages.json."""

import ctypes

from report import Failed


def brotli(data):
    """The encoder is a part of the library that stormlint reads with."""
    library, size = ctypes.CDLL("libbrotlienc.so.1"), ctypes.c_size_t(len(data) + 1024)
    out = ctypes.create_string_buffer(size.value)
    if not library.BrotliEncoderCompress(9, 22, 0, ctypes.c_size_t(len(data)), data,
                                         ctypes.byref(size), out):
        raise Failed("brotli")
    return out.raw[:size.value]
