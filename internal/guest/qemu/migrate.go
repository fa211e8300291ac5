package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// Mode is how a guest's memory follows it.
type Mode string

const (
	Precopy  Mode = "precopy"  // before it moves, again and again what it has written since
	Postcopy Mode = "postcopy" // after it has moved, a page when it is missed
)

// Migration is how a migration went.
type Migration struct {
	Mode        Mode          `json:"mode"`
	Total       time.Duration `json:"total"`       // as QEMU reports it
	Downtime    time.Duration `json:"downtime"`    // as QEMU reports it
	Stopped     time.Duration `json:"stopped"`     // from the stop at the source to the resumption at the target, as we saw it
	Transferred int64         `json:"transferred"` // bytes
	Rounds      int64         `json:"rounds"`      // passes over memory that was written meanwhile
}

const (
	// busyShare of a vCPU's time is more than a guest that idles needs (0.4 % measured).
	busyShare    = 0.05
	busyInterval = 250 * time.Millisecond
	maxBandwidth = 1 << 30 // bytes per second
	maxDowntime  = 300     // ms that precopy may aim at
)

// state is the answer of QEMU to query-migrate.
type state struct {
	Status   string `json:"status"`
	Reason   string `json:"error-desc"`
	Total    int64  `json:"total-time"` // ms
	Downtime *int64 `json:"downtime"`   // ms
	RAM      struct {
		Transferred int64 `json:"transferred"`
		Rounds      int64 `json:"dirty-sync-count"`
	} `json:"ram"`
}

// Migrate moves what runs in the guest to another that was started with Incoming and the
// same shape, on the same machine. Afterwards the channel is the other's, and this guest
// is to be stopped. Where this QEMU would damage the guest it is refused, with the reason;
// whether the guest is busy is judged once, just before, so one that becomes busy while it
// migrates by precopy is not protected: its memory is to be verified afterwards.
func (g *Guest) Migrate(ctx context.Context, to *Guest, mode Mode) (Migration, error) {
	m, err := g.migrate(ctx, to, mode)
	if err != nil && ctx.Err() != nil {
		// The guest goes on where it is, unless it has moved already.
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitWait)
		defer cancel()
		err = errors.Join(err, g.monitor.Execute(limit, "migrate_cancel", nil, nil))
	}
	if err != nil {
		return m, fmt.Errorf("migrate guest %s by %s: %w", g.Name(), mode, err)
	}
	return m, nil
}

func (g *Guest) migrate(ctx context.Context, to *Guest, mode Mode) (Migration, error) {
	if err := g.mayMigrate(ctx, to, mode); err != nil {
		return Migration{}, err
	}
	from := time.Now()
	stop, resume := g.monitor.Mark(), to.monitor.Mark()
	if err := g.connect(ctx, to, mode); err != nil {
		return Migration{}, err
	}
	if mode == Postcopy {
		if err := g.startPostcopy(ctx, stop); err != nil {
			return Migration{}, err
		}
	}
	if err := errors.Join(finished(ctx, g.monitor, stop), finished(ctx, to.monitor, resume)); err != nil {
		return Migration{}, err
	}
	s, err := g.totals(ctx)
	if err != nil {
		return Migration{}, err
	}
	m := Migration{Mode: mode, Total: time.Duration(s.Total) * time.Millisecond, Transferred: s.RAM.Transferred, Rounds: s.RAM.Rounds}
	if s.Downtime != nil {
		m.Downtime = time.Duration(*s.Downtime) * time.Millisecond
	}
	stopped, _, err := g.monitor.Await(ctx, stop, named("STOP"))
	if err != nil {
		return m, fmt.Errorf("wait until the source stops: %w", err)
	}
	resumed, _, err := to.monitor.Await(ctx, resume, named("RESUME"))
	if err != nil {
		return m, fmt.Errorf("wait until the target resumes: %w", err)
	}
	now := time.Now()
	m.Stopped = resumed.At.Sub(stopped.At)
	return m, sameClock(now.Round(0).Sub(from.Round(0)), now.Sub(from))
}

// sameClock fails where the time of day, which stamps QEMU's events, parted from the time that passed: the clock was set,
// and Stopped is not how long the guest stood still.
func sameClock(day, passed time.Duration) error {
	const most = 2 * time.Millisecond
	if step := day - passed; step.Abs() > most {
		return fmt.Errorf("the clock of this host was set by %+.3f s meanwhile: how long the guest stood still is not known", step.Seconds())
	}
	return nil
}

func (g *Guest) mayMigrate(ctx context.Context, to *Guest, mode Mode) error {
	if mode != Precopy && mode != Postcopy {
		return errors.New("that mode is not known: give precopy or postcopy")
	}
	if !to.wiring.Incoming {
		return fmt.Errorf("the target %s was not started with Incoming, and runs by itself", to.Name())
	}
	if to.wiring.Accelerator != g.wiring.Accelerator || to.shape.layout() != g.shape.layout() || to.shape.Memory != g.shape.Memory {
		return fmt.Errorf("the target %s has another accelerator, topology or memory", to.Name())
	}
	if err := g.shape.movable(); err != nil {
		return err
	}
	reason, no := refused(g.wiring.Version, g.wiring.Accelerator, RefusedPrecopy)
	if mode != Precopy || !no {
		return nil
	}
	share, err := g.busy(ctx)
	if err != nil {
		return err
	}
	if share > busyShare {
		return fmt.Errorf("refused, as the guest is busy (%.0f %% of a CPU): %s", 100*share, reason)
	}
	return nil
}

// movable says whether source and target can share what holds the guest's data.
func (s Shape) movable() error {
	if len(s.Persistent) > 0 {
		return fmt.Errorf("persistent memory %s: the target would write old pages into the file while the source still uses it: leave it out", s.Persistent[0].Name)
	}
	for _, d := range s.Disks {
		if d.Backing == BackingFile && d.Path == "" {
			return fmt.Errorf("disk %s is in a file of the guest's own folder, and the target has another: give both the same path", d.Name)
		}
	}
	return nil
}

// busy is how many CPUs the vCPUs use together at present.
func (g *Guest) busy(ctx context.Context) (float64, error) {
	before, err := g.Usage(ctx)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	pause := time.NewTimer(busyInterval)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := g.Usage(ctx)
	if err != nil {
		return 0, err
	}
	var run time.Duration
	for i := range min(len(before.VCPUs), len(after.VCPUs)) {
		run += after.VCPUs[i].Run - before.VCPUs[i].Run
	}
	return run.Seconds() / time.Since(begun).Seconds(), nil
}

type capability struct {
	Name string `json:"capability"`
	On   bool   `json:"state"`
}

// connect makes both sides ready and starts the transfer.
func (g *Guest) connect(ctx context.Context, to *Guest, mode Mode) error {
	capabilities := map[string]any{"capabilities": []capability{{"events", true}, {"postcopy-ram", mode == Postcopy}}}
	uri := "unix:" + filepath.Join(to.wiring.Dir, "migration.sock")
	for _, step := range []struct {
		m         *Monitor
		command   string
		arguments any
	}{
		{to.monitor, "migrate-set-capabilities", capabilities},
		{g.monitor, "migrate-set-capabilities", capabilities},
		{g.monitor, "migrate-set-parameters", map[string]any{"max-bandwidth": maxBandwidth, "downtime-limit": maxDowntime}},
		{to.monitor, "migrate-incoming", map[string]any{"uri": uri}},
		{g.monitor, "migrate", map[string]any{"uri": uri}},
	} {
		if err := step.m.Execute(ctx, step.command, step.arguments, nil); err != nil {
			return err
		}
	}
	return nil
}

// startPostcopy lets the guest move once the transfer runs.
func (g *Guest) startPostcopy(ctx context.Context, since int) error {
	e, _, err := g.monitor.Await(ctx, since, func(e Event) bool {
		return slices.Contains([]string{"active", "failed", "cancelled", "completed"}, status(e))
	})
	if err != nil {
		return err
	}
	if s := status(e); s != "active" {
		return fmt.Errorf("it ended as %s before it began", s)
	}
	return g.monitor.Execute(ctx, "migrate-start-postcopy", nil, nil)
}

func status(e Event) string {
	var d struct {
		Status string `json:"status"`
	}
	if e.Name != "MIGRATION" || json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return d.Status
}

func named(name string) func(Event) bool { return func(e Event) bool { return e.Name == name } }

// finished waits for the end of the transfer on one side.
func finished(ctx context.Context, m *Monitor, since int) error {
	e, _, err := m.Await(ctx, since, func(e Event) bool { return slices.Contains([]string{"completed", "failed", "cancelled"}, status(e)) })
	if err != nil {
		return fmt.Errorf("wait for its end: %w", err)
	}
	if s := status(e); s != "completed" {
		var answer state
		if err := m.Execute(ctx, "query-migrate", nil, &answer); err != nil {
			return fmt.Errorf("it ended as %s: %w", s, err)
		}
		return fmt.Errorf("it ended as %s: %s", s, answer.Reason)
	}
	return nil
}

// totals asks the source until it has them: it says that it is done a moment before.
func (g *Guest) totals(ctx context.Context) (state, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		var s state
		if err := g.monitor.Execute(ctx, "query-migrate", nil, &s); err != nil {
			return s, err
		}
		if s.Status == "completed" && s.Total > 0 {
			return s, nil
		}
		again := time.NewTimer(wait)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return s, fmt.Errorf("wait for the totals of the source: %w", ctx.Err())
		}
	}
}
