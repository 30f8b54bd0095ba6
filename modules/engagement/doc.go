// Package engagement runs the rooms in which an audience votes and asks, live.
//
// It is the worked example of the channel that drops its oldest (package later/channel, under package live): what is
// shown is a state that can be read again, so that a lost hint costs a moment. Read it along the story of a poll:
//
//	on_session_proposed.go  a session gets its room
//	room.go                 the room, and the code by which people find it
//	join_room.go            somebody comes in
//	voter.go                who that is from then on: a user, or a voter of this room only
//	voter_token.go          the proof of that, voter_cookie.go where a browser keeps it
//	poll.go                 what a poll is, how it may change, and how its ballots are counted
//	create_poll.go          a host drafts one
//	open_poll.go            and lets the room vote
//	cast_ballot.go          a vote; withdraw_ballot.go takes it back
//	ballot.go               how ballots are kept, and why no vote waits for another
//	end_poll.go             the host closes the poll
//	close_poll.go           or its time is up
//	nightly_recount.go      what must not be is looked for
//
// and of a question:
//
//	question.go  ask_question.go  moderate_question.go  upvote_question.go
//
// What people see of all that: room_state.go reads a room at one moment, get_room.go shows it to one of them, room_live.go
// to those who watch. get_session_room.go, get_poll.go and get_results.go are the other queries; shared_read.go lets
// many ask at once. limits.go says how often somebody may do what, poll_audit.go what the trail keeps. module.go lists
// it all, by what starts it; routes.go is the API.
//
// # Counting
//
// Nothing is counted up. A tally is counted from the ballots when somebody wants to see it, and so are the versions by which
// those who watch know old from new: they are sums of counters that lie in the rows that change. A vote writes
// its voter's rows and no other, and takes turns with nobody but the same voter's other window.
//
// Locks are taken in one order: the poll's advisory lock, the voter's, the row.
package engagement
