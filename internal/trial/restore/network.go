package restore

import (
	"context"
	"fmt"

	"plimsoll/internal/hostlock"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/setting"
)

// inNetwork refuses to put back settings of interfaces from another network namespace, where other interfaces have
// the same names.
func inNetwork(b *journal.Begin, log string) error {
	if b.Network == "" {
		return nil
	}
	here, err := hostlock.NetworkNamespace()
	if err != nil {
		return fmt.Errorf("find the network namespace: %w", err)
	}
	if here != b.Network {
		return fault.Refuse("the network interfaces that were changed are in %s and this is %s: run plimsoll restore there; if that namespace is gone, so are they: remove %s", b.Network, here, log)
	}
	return nil
}

// targetGone enters a setting whose target is gone, as the interface of a VM is that has ended. A run that does not
// say where its interfaces are is not believed: they may be in another network namespace.
func (r *Restorer) targetGone(ctx context.Context, s *setting.Setting, c *journal.Change) bool {
	if b := r.Journal.Begin(); b == nil || b.Network == "" || !s.Gone(ctx) {
		return false
	}
	entry := c.Back(c.Former)
	said := fmt.Sprintf("%s ended with its %s", c.Name(), s.TargetKind())
	r.took(said, r.Journal.Append(journal.Entry{Kind: journal.KindRestored, Setting: &entry, Note: said}))
	return true
}
