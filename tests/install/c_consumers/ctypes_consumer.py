"""ctypes_consumer.py LIBRARY IN OUT: does what `clipper --min 0 --max 6 IN OUT` does, and checks the counts."""
import ctypes
import sys

library, source, result = sys.argv[1:]
clipper = ctypes.CDLL(library)
clipper.clipper_request_new.restype = ctypes.c_void_p
clipper.clipper_last_error_message.restype = ctypes.c_char_p


class Counts(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in "elements raised lowered nan changed replaced became_infinite became_zero nodata became_nodata".split()]


def check(status):
    if status:
        sys.exit(clipper.clipper_last_error_message().decode())


request = ctypes.c_void_p(clipper.clipper_request_new())
check(clipper.clipper_request_set(request, b"min", b"0"))
check(clipper.clipper_request_set(request, b"max", b"6"))
counts = Counts(ctypes.sizeof(Counts))
check(clipper.clipper_clip_file(request, source.encode(), result.encode(), ctypes.byref(counts)))
clipper.clipper_request_free(request)
sys.exit(0 if (counts.elements, counts.raised, counts.lowered) == (6, 1, 1) else f"wrong counts: {counts.raised}")
