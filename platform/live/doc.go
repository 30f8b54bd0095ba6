// Package live shows people in a browser, over a WebSocket, how a room stands, and how it stands after each change.
//
// The hub knows nothing of what a room is. A module gives it one function that reads a room's state, as a list of
// [Part]s with versions, and one that reads the versions of many rooms:
//
//	hub, err := live.New(live.Config{
//		Load:     readRoom,     // func(ctx, room) (live.State, error)
//		Versions: readVersions, // func(ctx, rooms) (map[string]int64, error)
//		Exchange: live.OverBus(bus, "live"),
//	})
//
// The route lets people in, once it knows that they may, and a transaction that changes a room says so:
//
//	return hub.Serve(w, r, live.Join{Room: code, Audience: attendees, Snapshot: …})
//
//	UPDATE rooms SET version = version + 1 WHERE code = $1 RETURNING version
//	hub.Changed(tx, live.Change{Room: code, Version: version})
//
// hub.Run does the rest. A client is first sent the snapshot, {"type":"snapshot","seq":1,…}, and then each part that
// has changed, whole, as {"type":…,"seq":2,…}. It can therefore miss nothing by missing a frame, and need not ask
// for anything: after a reconnect it starts from a new snapshot.
//
// # From a commit to the screens
//
// After the commit the change goes into a channel that drops its oldest (package later/channel): producers never
// wait for viewers. One goroutine drains it. It tells the other replicas room and version through the [Exchange],
// reads the state, and sends what has a higher version than what was sent before. Their drains do the same. Since
// only states are sent, and only newer ones, it does not matter in which order hints arrive or reads end: what
// a client sees never goes back. Hints may even be lost: every five seconds the versions of the rooms that have
// clients are compared with the tables.
//
// A part that is new or has reached another [Part.Stage] is sent at once. Other changes of a part are sent at most four
// times a second; the last one always. For that, the state is not read for each of a thousand votes, either.
//
// # Clients
//
// Each client has a bounded queue, which holds frames that all clients share: a frame is encoded once. A client whose
// queue is full, or that takes longer than 3 s for a frame, is closed with 1013, and delays nobody meanwhile. Who
// does not even take that in is cut off, within 5 s altogether. Pings every 25 s keep proxies from closing what is idle
// and find out who is gone. A client may say {"type":"ping"}, which is answered; anything else is 1008, more than
// 4 KiB 1009. When Run's context ends, changes that wait are still shown, and everybody is closed with 1001.
//
// Pages of foreign origins are refused, and so is who sends neither an Origin nor a bearer token. [Limits] bound
// the connections of the replica, of a room, and from one address.
//
// Run belongs to the program's components, and is stopped after the HTTP server, which neither closes nor awaits
// connections that have become WebSockets.
package live
