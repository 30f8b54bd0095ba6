package ops

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"example.com/plenary/platform/strictjson"
)

const redacted = "[redacted]"

// memberName is what a program calls a member; anything else that is used as a name is data.
var memberName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// redact keeps of a payload what tells operators which things it is about: its structure, ids, numbers and
// truth values. Any other text may be somebody's, and is replaced.
func redact(payload []byte) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber() // an amount is shown as it is stored
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
		shown := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key := name
			if !memberName.MatchString(name) && !isID(name) {
				key = fmt.Sprint(redacted, " ", len(shown)+1)
			}
			shown[key] = redactValue(v[name])
		}
		return shown
	case []any:
		for i, element := range v {
			v[i] = redactValue(element)
		}
	case string:
		if !isID(v) {
			return redacted
		}
	}
	return value
}

// isID is strict: 32 digits without hyphens may be a secret.
func isID(s string) bool {
	_, ok := strictjson.ParseUUID(s)
	return ok
}
