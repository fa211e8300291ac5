package inventory

import "time"

// Hurry has a source reconnect without a long pause.
func (s *Source) Hurry() *Source {
	s.pause = 20 * time.Millisecond
	return s
}
