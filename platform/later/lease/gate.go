package lease

import "sync"

// Gate lets rows under suspicion of crashing their process run alone in it. All runners of one process share
// one gate. The zero value is ready for use.
type Gate struct {
	mu      sync.Mutex
	running int
	alone   bool
	waiting map[*Runner]bool
}

// enter takes up to n places for ordinary rows; none while a suspect runs, or waits for the others to end.
func (g *Gate) enter(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone || len(g.waiting) > 0 {
		return 0
	}
	g.running += n
	return n
}

func (g *Gate) leave(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running -= n
}

// tryAlone takes the whole process, or notes that r waits for it.
func (g *Gate) tryAlone(r *Runner) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.alone || g.running > 0 {
		if g.waiting == nil {
			g.waiting = map[*Runner]bool{}
		}
		g.waiting[r] = true
		return false
	}
	delete(g.waiting, r)
	g.alone = true
	return true
}

func (g *Gate) endAlone() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.alone = false
}

// giveUp takes back that r waits: its suspect is gone.
func (g *Gate) giveUp(r *Runner) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.waiting, r)
}
