// Package tuner is the tuner of a host: a process that reads what the host carries, decides by a
// rule after each interval, and batches the network work of the host or puts it back. Each change is
// in an undo log before it is made. All is put back when the tuner ends, or by restore where it was killed.
package tuner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/hostlock"
	"plimsoll/internal/hoststat/tenants"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/restore"
	"plimsoll/internal/tuner/dense"
)

// Options are a tuner and its limits.
type Options struct {
	Rule       string        // "dense"
	Every      time.Duration // time between decisions
	Hold       time.Duration // for which received packets may wait for others
	Interfaces []string      // the only ones to change; empty for all that carry traffic of VMs
	Study      bool          // a study starts it
	// Open opens the platform of this host.
	Open   func(ctx context.Context) (platform.Platform, error)
	Report func(Event)
	Clock  Clock // nil is the system's
}

// Defaults are the published rule with its time between decisions.
func Defaults() Options {
	return Options{Rule: dense.Name, Every: dense.Every, Hold: 200 * time.Microsecond}
}

// Check refuses options that no tuner can have.
func (o Options) Check() error {
	const longest = 10 * time.Millisecond // of a delay that no network needs
	switch {
	case o.Rule != dense.Name:
		hint := ""
		if near := parameter.Nearest(o.Rule, []string{dense.Name}); near != "" {
			hint = fmt.Sprintf("; did you mean %s?", near)
		}
		return fmt.Errorf("unknown tuner %q: the one there is is %s%s", o.Rule, dense.Name, hint)
	case o.Hold < time.Microsecond || o.Hold > longest || o.Hold%time.Microsecond != 0:
		return fmt.Errorf("packets cannot wait for %v: name a time from 1us to %v, in whole microseconds", o.Hold, longest)
	}
	return factor.CheckTunerTime(o.Every)
}

// Run tunes this host until the context ends. It first restores what a tuner that was killed left.
// An error of package fault is a refusal: nothing was changed.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.Check(); err != nil {
		return &fault.Refusal{Err: err}
	}
	if os.Geteuid() != 0 {
		return fault.Refuse("a tuner changes settings of network interfaces, which only root may do: run plimsoll as root")
	}
	if o.Clock == nil {
		o.Clock = system{}
	}
	dir, err := folder()
	if err != nil {
		return err
	}
	state := factor.TunerState{Rule: o.Rule, Every: parameter.Duration(o.Every), Process: os.Getpid(), Study: o.Study}
	release, err := occupy(dir, state)
	if err != nil {
		return err
	}
	defer release()
	left, err := o.restore(ctx, dir)
	if err != nil {
		return fmt.Errorf("restore the settings that an earlier tuner changed: %w", err)
	}
	p, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := o.possible(ctx, p.Machine()); err != nil {
		return &fault.Refusal{Err: err}
	}
	return o.tune(ctx, p, start{dir, left})
}

// start is what is known when a tuner starts.
type start struct {
	dir  string   // its state folder
	left []string // what an earlier one had left, and was put back
}

// tune opens the undo log, and decides until the context ends.
func (o Options) tune(ctx context.Context, p platform.Platform, at start) (err error) {
	logs, err := journal.UndoFolder()
	if err != nil {
		return err
	}
	network, err := hostlock.NetworkNamespace()
	if err != nil {
		return fmt.Errorf("find the network namespace: %w", err)
	}
	use := study.Use{Kind: "local"}
	j, err := journal.Alone(&journal.Begin{Run: journal.NewRun(), Dir: at.dir, Platform: use, Network: network}, logs, func(string) {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if c, ok := p.Machine().(platform.Claimer); ok && !o.Study { // a study has claimed it
		free, err := c.Claim(ctx, platform.Claim{Run: j.Begin().Run, Dir: at.dir, Log: j.UndoLog(j.Begin().Run), Names: []string{factor.TunerClaim}})
		if err != nil {
			return &fault.Refusal{Err: err}
		}
		defer free()
	}
	b := &batcher{
		inventory: &machines.Inventory{Platform: p, Use: use, Machine: p.Machine(), Catalog: o.catalog()},
		journal:   j, links: tenants.Links, only: o.Interfaces, hold: o.Hold,
		known: map[string]*known{},
	}
	defer b.release()
	l := &loop{clock: o.Clock, every: o.Every, see: look, hand: b, report: o.Report}
	o.Report(Event{
		Time: o.Clock.Now().UTC(), Kind: Started, Changes: at.left,
		Text: fmt.Sprintf("tuner %s decides every %v whether packets wait up to %v to be batched", o.Rule, parameter.Duration(o.Every), parameter.Duration(o.Hold)),
	})
	return l.run(ctx)
}

// catalog has what restore needs for the changes of a tuner.
func (o Options) catalog() *study.Catalog { return &study.Catalog{Factors: batching()} }

// restore puts back what a tuner that was killed left on this host.
func (o Options) restore(ctx context.Context, dir string) (done []string, err error) {
	logs, err := journal.UndoFolder()
	if err != nil {
		return nil, err
	}
	all, err := journal.ListUnfinished(logs)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.Dir != dir || u.Process != "" || u.Err != nil {
			continue
		}
		lines, failed := restore.Restore(ctx, restore.Restoration{
			Log: u.Log, Catalog: o.catalog(),
			Open: func(ctx context.Context, _ study.Use, _ uint64) (platform.Platform, error) { return o.Open(ctx) },
		})
		done, err = append(done, lines...), errors.Join(err, failed)
	}
	return done, err
}

// possible is nil where an interface of this host can be batched, or may be once it is there.
func (o Options) possible(ctx context.Context, m platform.Machine) error {
	links, err := tenants.Links()
	if err != nil {
		return err
	}
	for _, name := range o.Interfaces {
		i := slices.IndexFunc(links, func(l tenants.Link) bool { return l.Name == name })
		if i < 0 {
			return fmt.Errorf("this host has no network interface %s: it has %s", name, strings.Join(names(links), ", "))
		}
		if why := unable(links[i]); why != "" {
			return fmt.Errorf("interface %s cannot be batched: %s", name, why)
		}
	}
	kernel := kernelBatches()
	if kernel == nil {
		return nil
	}
	for _, l := range links {
		if l.Physical && (len(o.Interfaces) == 0 || slices.Contains(o.Interfaces, l.Name)) {
			if _, err := factor.InterruptCoalescing().Get(ctx, factor.Env{Machine: m, Target: l.Name}); err == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("no interface of this host can be batched: none has interrupt coalescing, and %w", kernel)
}

// kernelBatches is nil where this kernel has its own settings of batching and they can be
// written. Every interface has the same; the loopback is always there.
func kernelBatches() error {
	f, err := os.OpenFile("/sys/class/net/lo/napi_defer_hard_irqs", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return errors.New("the kernel has no napi_defer_hard_irqs, which came with Linux 5.8")
	}
	if err != nil {
		return fmt.Errorf("settings of interfaces cannot be written: %w", err)
	}
	return f.Close()
}

func names(links []tenants.Link) []string {
	var all []string
	for _, l := range links {
		all = append(all, l.Name)
	}
	return all
}
