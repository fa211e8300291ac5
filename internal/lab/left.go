package lab

import (
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/journal"
)

// Left lists the changes of the run in progress that are not restored yet, and the command
// that restores them if this process cannot. It may be called at any time.
func (l *Lab) Left() (left []string, later string) {
	dir := l.running.Load()
	if dir == nil {
		return nil, "plimsoll restore"
	}
	return journal.Left(*dir), "plimsoll restore " + platform.Quote([]string{*dir})
}
