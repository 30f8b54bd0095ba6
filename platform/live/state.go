package live

import (
	"fmt"

	"example.com/plenary/platform/strictjson"
)

// Audience is a set of those who watch a room; a module names its own bits. A client sees the parts whose audience
// has a bit in common with its own.
type Audience uint32

// Everyone has all bits. The zero Audience reaches nobody: a forgotten one must not tell what is not public.
const Everyone = ^Audience(0)

// State is how a room stands, read in one statement or one snapshot of the database. The hub keeps it and encodes
// it later: nothing that it refers to may change any more.
type State struct {
	// Version rises with each visible change of the room, in the order of the commits: a column that each change
	// increments. The first is 0 or more.
	Version int64
	Parts   []Part
	// Snapshot is the first frame for whoever joins, and is looked at in the state that Join.Snapshot returns. It
	// encodes to a JSON object such as {"room":{…}}, whose members follow "type" and "seq".
	Snapshot any
}

// Part is a piece of a room's state that has its own events: a poll, a question, a count. The hub sends it whole
// when its version has risen, never what has changed in it.
type Part struct {
	// Key names the part within the room: "poll:7". Part keys are unique in a State; a part that is not in it is gone,
	// about which nothing is sent.
	Key string
	// Version rises with each change of the part, in the order of the commits.
	Version int64
	// Stage is where the part is in its life, such as "open" and "closed". A part that is new or has reached another
	// stage is sent at once, with the type Entered. Any other change has the type Updated and is sent at most once
	// per Config.Interval: the latest, and the last one always. An empty type is not sent.
	Stage            string
	Entered, Updated string
	// Audience is who may see the part as it is now.
	Audience Audience
	// Body encodes to a JSON object such as {"poll":{…}}, whose members follow "type" and "seq". It is encoded once
	// per frame, for all clients, and not at all if nobody is there to see it.
	Body any
}

// message is a frame without its number. The clients that it is sent to share it.
type message struct {
	head, tail []byte // before and after the number
	audience   Audience
}

func (m *message) size() int64 { return int64(len(m.head) + len(m.tail)) }

func encode(eventType string, audience Audience, body any) (*message, error) {
	name, err := strictjson.Encode(eventType)
	if err != nil {
		return nil, err
	}
	object, err := strictjson.EncodeAnswer(body)
	if err != nil {
		return nil, err
	}
	if len(object) < 2 || object[0] != '{' {
		return nil, fmt.Errorf("the body of %s is not a JSON object", name)
	}
	m := &message{audience: audience, tail: object[1:]}
	if m.tail[0] != '}' {
		m.tail = append([]byte{','}, m.tail...)
	}
	m.head = append(append([]byte(`{"type":`), name...), `,"seq":`...)
	return m, nil
}
