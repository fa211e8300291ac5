package health

import (
	"sync"
	"time"
)

// Worst is the most placement groups without all copies in a window.
type Worst struct {
	mu     sync.Mutex
	most   float64
	looked time.Time
}

// Note adds a number to the present window.
func (w *Worst) Note(groups float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = max(w.most, groups)
}

// Turn ends a window with the present number, with which the next one begins.
func (w *Worst) Turn(groups float64) (most float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most = max(w.most, groups)
	w.most = groups
	return most
}

// Due reports whether it is time to look again while placement groups recover. It takes some milliseconds of the OSDs.
func (w *Worst) Due() bool {
	const every = 2 * time.Second
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) < every {
		return false
	}
	w.looked = time.Now()
	return true
}
