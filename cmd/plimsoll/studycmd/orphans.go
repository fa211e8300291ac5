package studycmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/catalog"
	"plimsoll/internal/live"
	"plimsoll/internal/load"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
)

// orphans are the VMs that loads left on a live cluster.
type orphans struct {
	url            string
	remove, others bool
}

func (o *orphans) check(args []string) error {
	switch {
	case o.url == "" && (o.remove || o.others):
		return cli.Mistake(errors.New("--remove and --others require --live"))
	case o.url != "" && len(args) > 0:
		return cli.Mistake(errors.New("--live and DIR are mutually exclusive"))
	case o.others && !o.remove:
		return cli.Mistake(errors.New("--others requires --remove"))
	}
	return nil
}

// open connects to the platform.
func (o *orphans) open(ctx context.Context) (management.Platform, error) {
	at, err := live.ParseAddress(o.url)
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("--live: %w", err))
	}
	kinds := catalog.Managed()
	open, known := kinds[at.Scheme]
	if !known {
		return nil, cli.Mistake(fmt.Errorf("--live: unknown kind of cluster %q; known: %s", at.Scheme, strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")))
	}
	p, err := open(ctx, load.Endpoint{URL: o.url})
	if mistake := (*live.Mistake)(nil); errors.As(err, &mistake) {
		return nil, cli.Mistake(mistake.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return p, nil
}

// found is what the command prints as JSON.
type found struct {
	Left    []owner.Orphan `json:"left"`
	Removed []owner.Orphan `json:"removed"`
}

func (o *orphans) restore(ctx context.Context, screen *cli.Screen, asJSON bool) (err error) {
	p, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	all, missed := owner.Find(ctx, p)
	f := found{Left: []owner.Orphan{}, Removed: []owner.Orphan{}}
	var chosen []owner.Orphan
	for _, v := range all {
		if o.remove && (v.Life == owner.Dead || o.others && v.Life == owner.Unknown) {
			chosen = append(chosen, v)
		} else {
			f.Left = append(f.Left, v)
		}
	}
	if chosen, err = o.settled(ctx, p, chosen); err != nil {
		return err
	}
	failed := errors.Join(owner.Remove(ctx, p, chosen, func(v owner.Orphan) { f.Removed = append(f.Removed, v) }), missed)
	if asJSON {
		return errors.Join(cli.PrintJSON(screen.Out, f), failed)
	}
	for _, v := range f.Removed {
		fmt.Fprintln(screen.Out, "removed", v)
	}
	for _, v := range f.Left {
		fmt.Fprintln(screen.Out, v)
	}
	if len(all) == 0 && missed == nil {
		fmt.Fprintln(screen.Out, "nothing to restore")
	}
	return failed
}

// registering is how long the registration of a VM may take, in which its files are of no VM.
const registering = 10 * time.Second

// settled leaves out files that a load may just be registering, as far as it is not known to be dead:
// those that were of no VM only once.
func (o *orphans) settled(ctx context.Context, p management.Platform, chosen []owner.Orphan) ([]owner.Orphan, error) {
	doubtful := func(v owner.Orphan) bool { return v.Files != "" && v.Life != owner.Dead }
	if !slices.ContainsFunc(chosen, doubtful) {
		return chosen, nil
	}
	select {
	case <-time.After(registering):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	again, err := owner.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(chosen, func(v owner.Orphan) bool {
		return doubtful(v) && !slices.ContainsFunc(again, func(w owner.Orphan) bool { return w.Files == v.Files })
	}), nil
}
