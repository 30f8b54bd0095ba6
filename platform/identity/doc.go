// Package identity says who is behind a piece of work, what they may do, and carries both across every hop.
//
// A [Principal] is the one who asked: a user, a named part of the system, or nobody. Its roles mean
// permissions through a [Permissions] registry that the modules fill at start. The context carries the
// principal together with the tenant, the correlation id and the W3C trace.
//
// Work that is done later is done for the one who asked, with the authority held when asking: a row that
// stores work stores [Capture] of its context, and whoever picks it up continues from [Restore]. There is one
// of each, so that no hop forgets a part. A row without a user runs as nobody, never as the process.
package identity
