// Package conference runs the conference: events, the sessions that people propose, and who has a ticket.
//
// It is the worked example of the expensive case: work that takes minutes, costs money, must not run twice at
// once, and must go on where it was when the process dies. Read it along the story of an organizer who has the
// proposals scored:
//
//	request_scoring.go       an organizer asks; what is scheduled will run with that organizer's authority
//	score_event_sessions.go  the command: permission, 12 minutes, and a lock of which the command itself is the owner
//	scoring_pass.go          one pass: what is left to do, one paid call a session, each result written as it comes
//	record_score.go          one result, and the eviction of what was cached
//	list_scores.go           the ranking, cached
//	scoring/                 the boundary to the model; package scoring has a reading order of its own
//
// Around them: event.go and session.go with the queries list_events.go, get_event.go, list_sessions.go and
// get_session.go; propose_session.go; on_order_paid.go, which makes registrations of what Sales has sold, and
// list_registrations.go; seed.go (demo data). module.go lists it all, by what starts it.
package conference
