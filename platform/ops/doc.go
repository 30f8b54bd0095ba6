// Package ops is the operators' part of the API: what waits, what runs, what failed, and what can be done
// about it.
//
//	GET  /ops/summary                   by source and mechanism: depth, oldest due, in flight, dead; replicas
//	GET  /ops/internal-commands         rows by state, name, source, correlation
//	GET  /ops/internal-commands/{id}    one row with its attempts, for whom it runs, and its redacted payload
//	POST /ops/internal-commands/requeue dead letters get another life
//	POST /ops/internal-commands/purge   what was done long ago goes
//	…    /ops/outbox                    the same for events and their deliveries
//
// Reading needs the permission ops:read, acting ops:act. With several databases a list is merged from all of
// them, and what names a row finds it wherever it lies. Actions are commands like any other, take an
// Idempotency-Key, and are noted in the log with who, why, to what and how much.
package ops
