"""A few machine instructions that Numba has no name for."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, misc"

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic
def add_rows(typingctx, table, starts, lane, total):
    """Add to four neighbours of ``total``, from ``lane`` on, those of several rows of a table.

    ``table`` (IN) is flat, ``starts`` (IN) say where its rows begin; the rows are added in the
    given order. The sums stay in one vector register, which a loop over arrays does not give.
    """
    flat = types.Array(types.float64, 1, "C")
    if (table, starts, total) != (flat, types.Array(types.int64, 1, "C"), flat):
        return None

    def codegen(context, builder, signature, args):
        of = signature.args
        arrays = [context.make_array(of[k])(context, builder, args[k]) for k in (0, 1, 3)]
        rows, begin, sums = (array.data for array in arrays)
        n = builder.extract_value(arrays[1].shape, 0)
        four = ir.VectorType(ir.DoubleType(), 4)

        def vector_at(pointer, index):
            return builder.bitcast(builder.gep(pointer, [index]), four.as_pointer())

        place = vector_at(sums, args[2])
        kept = cgutils.alloca_once_value(builder, builder.load(place, align=8))
        with cgutils.for_range(builder, n) as loop:
            start = builder.load(builder.gep(begin, [loop.index]))
            row = builder.load(vector_at(rows, builder.add(start, args[2])), align=8)
            builder.store(builder.fadd(builder.load(kept), row), kept)
        builder.store(builder.load(kept), place, align=8)
        return context.get_dummy_value()

    return types.none(table, starts, types.int64, total), codegen
