package ops

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"
)

const redacted = "[redacted]"

// redact keeps of a payload what tells operators which things it is about: its structure, ids, numbers and
// truth values. Any other text may be somebody's, and is replaced.
func redact(payload []byte) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return json.RawMessage(`"` + redacted + `"`)
	}
	shown, err := json.Marshal(redactValue(value))
	if err != nil {
		return json.RawMessage(`"` + redacted + `"`)
	}
	return shown
}

func redactValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = redactValue(member)
		}
	case []any:
		for i, element := range v {
			v[i] = redactValue(element)
		}
	case string:
		if _, err := uuid.Parse(v); err != nil {
			return redacted
		}
	}
	return value
}
