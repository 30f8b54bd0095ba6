package fault

// Violations collects complaints about an input, so that its sender hears of all of them at once.
// The zero value is ready for use.
type Violations []Field

// Add records one complaint. code is stable ("required", "out_of_range", "too_long", "unknown_value").
func (v *Violations) Add(path, code, message string) {
	*v = append(*v, Field{Path: path, Code: code, Message: message})
}

// Check records the complaint unless ok holds.
func (v *Violations) Check(ok bool, path, code, message string) {
	if !ok {
		v.Add(path, code, message)
	}
}

// Err returns nil if nothing was recorded, and otherwise an Invalid fault with code "invalid_input" that
// carries every complaint.
func (v Violations) Err() error {
	if len(v) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Code: "invalid_input", Message: "the request is not valid", Fields: v}
}
