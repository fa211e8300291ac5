package lab

import (
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/journal"
)

// Left says what the run under way has changed and not put back yet, a phrase each, and the
// command that puts it back if this process cannot. It may be called at any time.
func (l *Lab) Left() (left []string, later string) {
	dir := l.running.Load()
	if dir == nil {
		return nil, "plimsoll restore"
	}
	return journal.Left(*dir), "plimsoll restore " + platform.Quote([]string{*dir})
}
