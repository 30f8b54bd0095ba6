package internalcommand

// Door returns the function value that the queue runs for a name.
func Door(q *Queue, name string) any { return q.entries[name].door }
