"use strict";
// What the page holds: one object, U, that all parts of the page share.
const U = {};

U.bytes = (text) => {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
};

// Arrays as Python packs them (arrays.py): little-endian bytes, or values and the place of each.
U.ARRAYS = {
  f8: Float64Array, f4: Float32Array,
  u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
  i1: Int8Array, i2: Int16Array, i4: Int32Array,
};

U.array = (packed) => {
  if (packed.bytes !== undefined) return new U.ARRAYS[packed.kind](U.bytes(packed.bytes));
  const values = U.array(packed.values), at = U.array(packed.at);
  return Float64Array.from(at, (place) => values[place]);
};

// The first call makes the value, later ones return it: what nobody opens is never unpacked.
U.lazy = (make) => {
  let made = false, value;
  return () => {
    if (!made) { value = make(); made = true; }
    return value;
  };
};
