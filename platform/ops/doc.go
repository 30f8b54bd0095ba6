// Package ops is the operators' part of the API: what waits, what runs, what failed, and what can be done
// about it.
//
//	GET  /ops/internal-commands         rows by state, name, source, correlation
//	GET  /ops/internal-commands/{id}    one row with its attempts, for whom it runs, and its redacted payload
//	POST /ops/internal-commands/requeue dead letters get another life
//	…    /ops/outbox                    the same for events and their deliveries
//
// Reading needs the permission ops:read, acting ops:act. With several databases a list is merged from all of
// them, and what names a row finds it wherever it lies.
package ops
