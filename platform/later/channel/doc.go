// Package channel is the way to do work later that may be lost: in memory, bounded, and when that is full the
// oldest item goes.
//
// It is right when losing an item costs no more than a screen that is stale until the next change: a tally that
// is pushed to the viewers of a poll, a hint that a list has changed. Whoever missed it can ask for the present
// state at any time. If somebody would have to repair the loss (a mail, a charge, a row elsewhere), it is the
// wrong way, however unlikely the loss is: the work needs a row, see package later.
//
//	updates, err := channel.New(channel.Config[update]{
//		Name:     "live",
//		Capacity: 1024,
//		Key:      func(u update) (string, bool) { return u.room, u.kind == "tally" },
//	})
//
// A producer hands its item to the transaction that makes it true:
//
//	updates.Enlist(tx, update{room: "poll-7", kind: "tally", votes: 12})
//
// The item goes in once that transaction has committed. Rolled back or repeated, it never was there. Nothing else
// puts items in, so nobody can tell the world what did not happen.
//
// A producer never waits and is never refused. When the channel is full, the oldest item makes room, which is
// counted and, at most every ten seconds, warned of. Two things make that rare:
//
//   - Items with a Key coalesce: a newer one takes the place of the pending one with the same key, where that
//     waits. Only what says "this is how it stands now" may have a key, never "this was added".
//   - Items that are Protected, such as the result that closes a poll, go last: as long as there is an ordinary
//     item, pending or just arriving, the oldest of those goes. A protected one is lost only when more of them
//     wait than the channel holds. It is counted apart and told to Lost, which has its room sent a fresh state.
//
// One reader takes the items out, in the order in which they came; a coalesced one in the order of its first:
//
//	left, err := updates.Drain(ctx, func(ctx context.Context, u update) error { return hub.Send(ctx, u) })
//
// What failure means is said once, here: an item whose handling fails, panics or takes too long is counted,
// logged at most every ten seconds, and dropped. It is never tried again, and the next one follows. A handler
// that hangs delays what waits behind it, which then gets lost in order of age, and delays no producer.
//
// When ctx ends, Drain hands over what is still pending, for FlushTimeout at most. What a crash finds in the
// channel is gone, and other processes do not see it.
package channel
