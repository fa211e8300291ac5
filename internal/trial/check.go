package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"plimsoll/internal/platform"
)

// Needs is what a study takes before it can run: the needs of its loads, all
// arms together.
type Needs struct {
	Disk     int64             // bytes in the scratch folder, if the loads of all arms lie there at once
	Time     time.Duration     // rough length of preparing them
	Changes  []string          // each change outside the scratch folder
	Versions map[string]string // programs that will be used
	Space    int64             // bytes that are left for the scratch folder; 0 is unknown
}

// Check says, changing nothing, what the study needs on the machine and whether
// it is there: every level of every factor is asked of the machine and every
// load looks at what it needs. Its error names what the user can do.
func (b *Bench) Check(ctx context.Context) (*Needs, error) {
	s, err := b.session(&journal{})
	if err != nil {
		return nil, err
	}
	return s.check(ctx)
}

func (s *session) check(ctx context.Context) (*Needs, error) {
	if err := s.checkSettings(ctx); err != nil {
		return nil, err
	}
	total := &Needs{Versions: map[string]string{}}
	seen := map[string]bool{}
	for _, arm := range s.Plan.Arms {
		if err := s.checkService(ctx, arm, total); err != nil {
			return nil, err
		}
		settings := s.Study.Settings(arm.Levels)
		if key := loadKey(settings); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		load, err := s.kind.New(settings)
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", arm.Label, err)
		}
		if s.sim != nil {
			continue // the load never runs
		}
		needs, err := load.Check(ctx, s.env(s.Plan.Seed, nil, nil))
		if err != nil {
			return nil, fmt.Errorf("arm %s: %w", arm.Label, err)
		}
		// Arms share their files, so the largest counts.
		total.Disk, total.Time = max(total.Disk, needs.Disk), max(total.Time, needs.Time)
		for _, change := range needs.Changes {
			if !seen["change "+change] {
				seen["change "+change] = true
				total.Changes = append(total.Changes, change)
			}
		}
		maps.Copy(total.Versions, needs.Versions)
	}
	return total, s.checkSpace(ctx, total)
}

func (s *session) checkSettings(ctx context.Context) error {
	for _, f := range s.Study.Factors {
		for _, setting := range s.settings {
			if setting.name != f.FullName() {
				continue
			}
			if err := setting.check(ctx, f.Levels); err != nil {
				return err
			}
		}
	}
	return nil
}

// spare is the share of what is left on a file system that a study may fill.
const spare = 0.95

func (s *session) checkSpace(ctx context.Context, n *Needs) error {
	if budget := s.Study.Measure.Disk; budget > 0 && n.Disk > budget {
		return fmt.Errorf("the study needs %.3g GiB on disk and its budget is %.3g GiB: raise measure.disk, or make its files smaller", gib(n.Disk), gib(budget))
	}
	left, ok := s.space(ctx, s.scratch)
	if !ok {
		return nil
	}
	n.Space = int64(left.free)
	if float64(n.Disk) > spare*left.free {
		return fmt.Errorf("the study needs %.3g GiB in %s, where %.3g GiB are left: name another scratch folder, or make its files smaller", gib(n.Disk), s.scratch, left.free/(1<<30))
	}
	return nil
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// space asks the machine what is left in a folder, or below the place where it
// will be made.
func (s *session) space(ctx context.Context, dir string) (space, bool) {
	o, ok := s.machine.(platform.Observer)
	if !ok || dir == "" {
		return space{}, false
	}
	left, err := o.Space(ctx, dir)
	if err != nil || left.Size <= 0 {
		return space{}, false
	}
	return space{what: "scratch folder", free: float64(left.Free), total: float64(left.Size)}, true
}

// spaces is what is left for the workload on the machine and for the results here.
func (s *session) spaces(ctx context.Context) []space {
	var all []space
	if left, ok := s.space(ctx, s.scratch); ok {
		all = append(all, left)
	}
	if left, ok := here(s.Dir); ok {
		all = append(all, left)
	}
	return all
}

// here is what is left where plimsoll itself writes.
func here(dir string) (space, bool) {
	var st syscall.Statfs_t
	for ; ; dir = filepath.Dir(dir) {
		err := syscall.Statfs(dir, &st)
		if err == nil && st.Blocks > 0 {
			return space{what: "results folder", free: float64(st.Bavail) * float64(st.Bsize), total: float64(st.Blocks) * float64(st.Bsize)}, true
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return space{}, false
		}
	}
}

// writable finds out whether the results folder can be written, before a study
// starts that could not be written down.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".writable-*")
	if err != nil {
		return fmt.Errorf("write to results folder: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
