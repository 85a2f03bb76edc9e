"""Machine instructions for kernels, by name: `intrinsics` has them, and needs Numba for that."""

from __future__ import annotations

from unnaive.common.compile import later

_HOME = "unnaive.encode.intrinsics"

add_rows = later(_HOME, "add_rows")
bit_count = later(_HOME, "bit_count")
bit_length = later(_HOME, "bit_length")
bits_float = later(_HOME, "bits_float")
float_bits = later(_HOME, "float_bits")
fused_multiply_add = later(_HOME, "fused_multiply_add")
square_128 = later(_HOME, "square_128")
