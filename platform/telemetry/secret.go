package telemetry

import (
	"fmt"
	"io"
	"log/slog"
)

const masked = "***"

// Secret is a setting that is used and never shown. Printed with any verb, logged or marshalled, also as a
// field of something else, it reads ***; string(s) is the value. An unexported field is the exception: package
// fmt cannot call its methods and prints the value, so a struct that is ever printed must export its secrets.
type Secret string

// String returns ***.
func (Secret) String() string { return masked }

// Format writes *** for every verb, those that String is not asked for included.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, masked) }

// LogValue returns ***.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText returns ***, for JSON and whatever else asks for text.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }
