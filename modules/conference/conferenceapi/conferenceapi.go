// Package conferenceapi is what other modules may know of Conference: the events that it publishes.
package conferenceapi

import "github.com/google/uuid"

// SessionProposed happened when somebody proposed a session. It carries what a listener needs to act without
// asking Conference, which may be elsewhere.
type SessionProposed struct {
	SessionID uuid.UUID `json:"sessionId"`
	EventID   uuid.UUID `json:"eventId"`
	Title     string    `json:"title"`
}

// EventName is the stored name.
func (SessionProposed) EventName() string { return "conference.session_proposed" }
