// Package strictjson reads JSON that has exactly one meaning, and says where it has none.
//
// Two parsers may read one text differently: the first of two equal names or the last, "qty" for "QTY", a lone
// surrogate as something else, data after the value or not. What one of them checked is then not what the other
// one does. And what a database cannot store (NUL) fails far from the one who sent it. So [Decode] refuses:
//
//   - anything but one value: nothing, two values, a byte order mark, unbalanced or deeply nested text;
//   - invalid UTF-8, lone surrogates and NUL, in names as in values;
//   - duplicate names, unknown names, names in another case;
//   - null, unless the type gives it a meaning ([NullTaker], as [Nullable] does, or a free-form value);
//   - fractions and exponents for integers, numbers outside the type, UUIDs that are not in the canonical form,
//     times that are not RFC 3339 or lie outside the years 1 to 9999.
//
// A refusal is a fault of kind Invalid whose fields say where ("lines[0].quantity") and why, by a stable code.
// It repeats nothing that was sent: neither a value nor a name that the type does not know.
//
// [Encode] writes what Decode reads. HTTP bodies, stored commands and events, and page cursors go through here.
package strictjson
