package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/qmp"
)

// Mode is the mode of a migration.
type Mode string

const (
	Precopy  Mode = "precopy"  // memory first, then dirty pages in rounds
	Postcopy Mode = "postcopy" // memory after the switch-over, on page faults
)

// Migration is the statistics of a migration.
type Migration struct {
	Total       time.Duration // as QEMU reports it
	Downtime    time.Duration // as QEMU reports it
	Stopped     time.Duration // from STOP on the source to RESUME on the target, by QEMU's events
	Transferred int64         // bytes
}

const (
	// busyShare is the CPU use of a vCPU above which a guest is not idle (idle guests use 0.4
	// %).
	busyShare    = 0.05
	busyInterval = 250 * time.Millisecond
	maxBandwidth = 1 << 30 // bytes per second
	maxDowntime  = 300     // ms, the downtime limit of precopy
)

// state is QEMU's answer to query-migrate.
type state struct {
	Status   string `json:"status"`
	Reason   string `json:"error-desc"`
	Total    int64  `json:"total-time"` // ms
	Downtime *int64 `json:"downtime"`   // ms
	RAM      struct {
		Transferred int64 `json:"transferred"`
	} `json:"ram"`
}

// Migrate moves a running guest to another that was started with Incoming and the same shape,
// on the same machine. Afterwards the channel belongs to the other, and this guest must be
// stopped. A migration by which this QEMU would damage the guest is refused. The check whether
// the guest is busy is made once, before the start: memory of a guest that becomes busy during
// precopy must be verified afterwards.
func (g *Guest) Migrate(ctx context.Context, to *Guest, mode Mode) (Migration, error) {
	m, err := transfer{g, to, mode}.run(ctx)
	if err != nil && ctx.Err() != nil {
		// The guest continues on the source, unless it has moved already.
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitWait)
		defer cancel()
		err = errors.Join(err, g.monitor.Execute(limit, "migrate_cancel", nil, nil))
	}
	if err != nil {
		return m, fmt.Errorf("migrate guest %s by %s: %w", g.Name(), mode, err)
	}
	return m, nil
}

// transfer is a migration in progress.
type transfer struct {
	from, to *Guest
	mode     Mode
}

func (t transfer) run(ctx context.Context) (Migration, error) {
	if err := t.allowed(ctx); err != nil {
		return Migration{}, err
	}
	began := time.Now()
	source, target := t.from.monitor, t.to.monitor
	stop, resume := source.Mark(), target.Mark()
	if err := t.begin(ctx); err != nil {
		return Migration{}, err
	}
	if t.mode == Postcopy {
		if err := startPostcopy(ctx, source, stop); err != nil {
			return Migration{}, err
		}
	}
	if err := errors.Join(finished(ctx, source, stop), finished(ctx, target, resume)); err != nil {
		return Migration{}, err
	}
	s, err := totals(ctx, source)
	if err != nil {
		return Migration{}, err
	}
	m := Migration{Total: time.Duration(s.Total) * time.Millisecond, Transferred: s.RAM.Transferred}
	if s.Downtime != nil {
		m.Downtime = time.Duration(*s.Downtime) * time.Millisecond
	}
	stopped, _, err := source.Await(ctx, stop, named("STOP"))
	if err != nil {
		return m, fmt.Errorf("wait until the source stops: %w", err)
	}
	resumed, _, err := target.Await(ctx, resume, named("RESUME"))
	if err != nil {
		return m, fmt.Errorf("wait until the target resumes: %w", err)
	}
	now := time.Now()
	m.Stopped = resumed.At.Sub(stopped.At)
	return m, sameClock(now.Round(0).Sub(began.Round(0)), now.Sub(began))
}

// sameClock fails if the wall clock, which stamps QEMU's events, was stepped during the
// migration: Stopped is then not the downtime.
func sameClock(day, passed time.Duration) error {
	const most = 2 * time.Millisecond
	if step := day - passed; step.Abs() > most {
		return fmt.Errorf("the clock of this host was stepped by %+.3f s meanwhile, so the downtime of the guest is unknown", step.Seconds())
	}
	return nil
}

// allowed rejects migrations that would damage the VM, or are impossible.
func (t transfer) allowed(ctx context.Context) error {
	from, to := t.from, t.to
	if t.mode != Precopy && t.mode != Postcopy {
		return errors.New("that mode is unknown: use precopy or postcopy")
	}
	if !to.wiring.Incoming {
		return fmt.Errorf("the target %s was not started with Incoming, and runs by itself", to.Name())
	}
	if to.wiring.Accelerator != from.wiring.Accelerator || to.shape.CPU != from.shape.CPU || to.shape.Memory != from.shape.Memory {
		return fmt.Errorf("the target %s has another accelerator, topology or memory", to.Name())
	}
	if err := from.shape.Movable(); err != nil {
		return err
	}
	reason := hardware.Refused(from.wiring.Version, from.wiring.Accelerator, hardware.RefusedPrecopy)
	if t.mode != Precopy || reason == "" {
		return nil
	}
	share, err := from.busy(ctx)
	if err != nil {
		return err
	}
	if share > busyShare {
		return fmt.Errorf("refused, as the guest is busy (%.0f %% of a CPU): %s", 100*share, reason)
	}
	return nil
}

// busy is the number of CPUs that the vCPUs currently use.
func (g *Guest) busy(ctx context.Context) (float64, error) {
	before, err := g.Inspect().Usage(ctx)
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
	after, err := g.Inspect().Usage(ctx)
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

// begin prepares both sides and starts the transfer.
func (t transfer) begin(ctx context.Context) error {
	source, target := t.from.monitor, t.to.monitor
	capabilities := map[string]any{"capabilities": []capability{{"events", true}, {"postcopy-ram", t.mode == Postcopy}}}
	uri := "unix:" + filepath.Join(t.to.wiring.Dir, "migration.sock")
	for _, step := range []struct {
		m         *qmp.Monitor
		command   string
		arguments any
	}{
		{target, "migrate-set-capabilities", capabilities},
		{source, "migrate-set-capabilities", capabilities},
		{source, "migrate-set-parameters", map[string]any{"max-bandwidth": maxBandwidth, "downtime-limit": maxDowntime}},
		{target, "migrate-incoming", map[string]any{"uri": uri}},
		{source, "migrate", map[string]any{"uri": uri}},
	} {
		if err := step.m.Execute(ctx, step.command, step.arguments, nil); err != nil {
			return err
		}
	}
	return nil
}

// startPostcopy switches over once the transfer runs.
func startPostcopy(ctx context.Context, source *qmp.Monitor, since int) error {
	e, _, err := source.Await(ctx, since, func(e qmp.Event) bool {
		return slices.Contains([]string{"active", "failed", "cancelled", "completed"}, status(e))
	})
	if err != nil {
		return err
	}
	if s := status(e); s != "active" {
		return fmt.Errorf("it ended as %s before it started", s)
	}
	return source.Execute(ctx, "migrate-start-postcopy", nil, nil)
}

func status(e qmp.Event) string {
	var d struct {
		Status string `json:"status"`
	}
	if e.Name != "MIGRATION" || json.Unmarshal(e.Data, &d) != nil {
		return ""
	}
	return d.Status
}

func named(name string) func(qmp.Event) bool { return func(e qmp.Event) bool { return e.Name == name } }

// ended reports whether a status is the last of a migration.
func ended(status string) bool {
	return slices.Contains([]string{"completed", "failed", "cancelled"}, status)
}

// finished waits for the end of the transfer on one side.
func finished(ctx context.Context, m *qmp.Monitor, since int) error {
	e, _, err := m.Await(ctx, since, func(e qmp.Event) bool { return ended(status(e)) })
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

// totals polls the source, which reports completion shortly before the totals.
func totals(ctx context.Context, source *qmp.Monitor) (state, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		var s state
		if err := source.Execute(ctx, "query-migrate", nil, &s); err != nil {
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
