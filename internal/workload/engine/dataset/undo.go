package dataset

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/workload/engine"
)

// ErrSpoilt reports that undoing the loads' changes does not restore the initial data.
var ErrSpoilt = errors.New("it differs from the prepared data")

// copied reports whether each trial starts with a copy of the database at servers of a
// protocol.
func (d Set) copied(protocol string) bool {
	return d.Reset && (len(d.Undo) == 0 || protocol != engine.MariaDB)
}

// undo reverts the changes of loads to a database.
func (d Set) undo(ctx context.Context, at place) error {
	s, err := at.dial(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := patient(ctx, s); err != nil {
		return err
	}
	for _, j := range d.Undo {
		if err := j.Do(ctx, s); err != nil {
			return fmt.Errorf("undo the changes of the load to database %s at %s: %s: %w", at.name, at.Address, j.Label, err)
		}
	}
	return s.Exec(ctx, "DELETE FROM plimsoll WHERE setting = '"+usedNote+"'")
}
