"""Arrays on their way into kernels."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory as what is not written to.

    A kernel is compiled anew for arrays that can be written to and for those that cannot, and
    tables come in both kinds, by library and version: columns are all of the second kind.
    """
    view = array.view()
    view.flags.writeable = False
    return view
