package machines

import (
	"context"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/platform"
)

// readCheckpoints is how long reading the checkpoints of a guest may take.
const readCheckpoints = time.Second

// checkpoints are those of a guest at an instant.
type checkpoints struct {
	at  time.Time
	all platform.Checkpoints
}

// Checkpoints are the counters of the checkpoints of a guest since the last call; nil for a machine without a standby. They are read
// anew, as samples of a guest are rare.
func (s *Sampler) Checkpoints(m platform.Machine) map[string]float64 {
	h, ok := m.(platform.Hosted)
	if !ok || !s.protected() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readCheckpoints)
	defer cancel()
	given, err := h.Given(ctx)
	if err != nil || given.Checkpoints == nil {
		return nil
	}
	now := checkpoints{time.Now(), *given.Checkpoints}
	last := s.checkpoints
	if s.checkpoints = now; last.at.IsZero() {
		return nil
	}
	return collect.Checkpoints(now.all, last.all, now.at.Sub(last.at))
}

// protected reports whether a sample has checkpoints.
func (s *Sampler) protected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.samples) == 0 {
		return false
	}
	_, is := s.samples[0].values[collect.CheckpointCounter]
	return is
}
