// Package audit keeps a trail of who changed what, which commits or vanishes with the change.
//
// A module opts in where it changes an entity, in the same transaction:
//
//	err := audit.Modified(ctx, tx, "sales.order", order.ID.String(), before, after)
//
// The entity is a struct of plain data. Each exported field is a property, named by its json tag; an entry lists
// the properties that changed, with their values before and after as typed JSON. Who changed it, the correlation
// and the tenant come from the context. If the entry cannot be written the change fails: there is no change
// without its trace, and no trace without its change.
//
// Two tags say what must not be kept:
//
//	Email string `json:"email" pii:"true"`  // "[REDACTED]" on both sides; that it changed is visible
//	Cache []byte `json:"cache" audit:"-"`   // no property
//
// Redaction happens at capture, at any depth, and cannot be undone. A field tagged json:"-" and an unexported one
// are no properties either, and a struct that has no other fields is refused, as is every value without a JSON
// form: nothing is left out in silence.
//
// [Performed] records what is no change of an entity: a sign-in, an act of an operator.
//
// Entries are append-only by triggers that hold for every role; see the migration. [List] and [Get] read them.
// [Cleaner] removes what is older than it is to be kept, nothing younger than a day ever. The trail lies in the
// database of the data, so whoever shows the trail of several databases asks each of them.
package audit
