package inventory

import "time"

// ReconnectSoon has a source reconnect without a long pause.
func (s *Source) ReconnectSoon() *Source {
	s.pause = 20 * time.Millisecond
	return s
}
