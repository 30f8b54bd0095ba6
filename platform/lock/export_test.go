package lock

// Waiters returns how many wait in this process.
func Waiters(l *Locks) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}
