// Package cache keeps results of queries in the memory of one process, and never serves one that an eviction
// was meant to remove.
//
//	scores, err := cache.Get(ctx, c, "scores:"+eventID, time.Minute, func(ctx context.Context) ([]Score, error) {
//		return listScores(ctx, pool, eventID)
//	})
//	…
//	err := c.Evict("scores:" + eventID) // after the commit that changed them
//
// # Keys
//
// A key is made of segments divided by colons, from the general to the special. [Cache.Evict] takes a key or
// its leading segments: "scores" removes "scores", "scores:42" and "scores:42:best", and leaves "scoresheet:42"
// alone; "scores:4" leaves "scores:42" alone. Segments count whole. A segment that a caller has sent must be
// escaped, for instance with url.QueryEscape, or it could contain a colon; and a result that depends on who asks
// has the user, and where there are any the tenant, in its key.
//
// # Generations
//
// A load reads the database at some moment and stores what it read a little later. If the data changes in
// between, the eviction comes too early to remove anything, and the old result would stay until its time is up.
// So an eviction also begins a new generation of the keys that it names: a load that began before can neither
// store its result nor be joined by a caller that comes after. Callers who joined it earlier get what it read,
// as they would have without a cache.
//
// Each process has its own cache, and whoever commits a change tells the others what to evict. A process that may
// have missed such a message calls [Cache.Flush] once it hears again. What is kept is bounded by number and age:
// a lost message cannot outlive the time that was given to [Get].
package cache
