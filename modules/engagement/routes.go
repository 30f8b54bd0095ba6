package engagement

import "example.com/plenary/platform/httpx"

// Routes declares the module's part of the API. It relies on Authenticator and Voters to know who asks.
func (m *Module) Routes(api *httpx.API) {
	m.roomRoutes(api)
	m.pollRoutes(api)
	m.questionRoutes(api)
}

const tag = "Engagement"

func (m *Module) roomRoutes(api *httpx.API) {
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/engagement/sessions/{sessionId}/room", ID: "getSessionRoom", Tags: []string{tag},
		Summary: "The code of a session's room", Errors: []int{404},
	}, m.getSessionRoomRoute)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/engagement/rooms/{code}/join", ID: "joinRoom", Tags: []string{tag}, Status: 200,
		Summary:       "Join a room by its code",
		Description:   "Without an account one gets a cookie for this room; joining again one stays the same voter.",
		NonIdempotent: "whoever is in already stays the same voter, and a stored answer would hold a token", Errors: []int{404, 429},
	}, m.postJoin)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/engagement/rooms/{code}", ID: "getRoom", Tags: []string{tag},
		Summary: "All of a room that one may see", Errors: []int{401, 403, 404},
	}, m.getRoomRoute)
}

func (m *Module) pollRoutes(api *httpx.API) {
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/engagement/rooms/{code}/polls", ID: "createPoll", Tags: []string{tag}, Status: 201,
		Summary: "Draft a poll", Permission: PermissionHost, Errors: []int{404},
	}, m.postPoll)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/engagement/polls/{id}/open", ID: "openPoll", Tags: []string{tag}, Status: 200,
		Summary: "Let the room vote", Permission: PermissionHost, Errors: []int{404, 409, 412},
	}, m.postOpening)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/engagement/polls/{id}/close", ID: "closePoll", Tags: []string{tag}, Status: 200,
		Summary: "End the vote, for good", Permission: PermissionHost, Errors: []int{404, 409, 412},
	}, m.postClosing)
	httpx.Handle(api, httpx.Route{
		Method: "PUT", Path: "/engagement/polls/{id}/ballot", ID: "castBallot", Tags: []string{tag},
		Summary: "Vote: all options that one chooses", Errors: []int{401, 403, 404, 409, 429},
	}, m.putBallot)
	httpx.Handle(api, httpx.Route{
		Method: "DELETE", Path: "/engagement/polls/{id}/ballot", ID: "withdrawBallot", Tags: []string{tag},
		Summary: "Take one's vote back", Errors: []int{401, 403, 404, 409, 429},
	}, m.deleteBallot)
	httpx.Handle(api, httpx.Route{
		Method: "GET", Path: "/engagement/polls/{id}", ID: "getPoll", Tags: []string{tag},
		Summary: "One poll", Errors: []int{401, 403, 404},
	}, m.getPollRoute)
	httpx.HandleRaw(api, httpx.Route{
		Method: "GET", Path: "/engagement/polls/{id}/results.csv", ID: "getPollResults", Tags: []string{tag}, Produces: "text/csv",
		Summary: "A poll's result as a table", Permission: PermissionHost, Errors: []int{404},
	}, m.getResultsCSV)
}

func (m *Module) questionRoutes(api *httpx.API) {
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/engagement/rooms/{code}/questions", ID: "askQuestion", Tags: []string{tag}, Status: 201,
		Summary: "Hand a question in", Errors: []int{401, 403, 404, 409, 429},
	}, m.postQuestion)
	httpx.Handle(api, httpx.Route{
		Method: "PUT", Path: "/engagement/questions/{id}/upvote", ID: "upvoteQuestion", Tags: []string{tag},
		Summary: "Want a question answered", Errors: []int{401, 403, 404, 409, 429},
	}, m.putUpvote)
	httpx.Handle(api, httpx.Route{
		Method: "DELETE", Path: "/engagement/questions/{id}/upvote", ID: "withdrawUpvote", Tags: []string{tag},
		Summary: "Take an upvote back", Errors: []int{401, 403, 404, 409, 429},
	}, m.deleteUpvote)
	httpx.Handle(api, httpx.Route{
		Method: "POST", Path: "/engagement/questions/{id}/moderation", ID: "moderateQuestion", Tags: []string{tag}, Status: 200,
		Summary: "Approve, dismiss or answer a question", Permission: PermissionModerate, Errors: []int{404, 409},
	}, m.postModeration)
}
