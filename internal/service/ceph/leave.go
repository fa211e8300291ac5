package ceph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// lose ends an OSD for good, marks it out after a time, and waits until the others have all copies of its data again.
func (c *cluster) lose(ctx context.Context, n int, after time.Duration) (map[string]float64, error) {
	began := time.Now()
	values, err := c.kill(ctx, n)
	if err == nil {
		err = rest(ctx, after-time.Since(began))
	}
	if err != nil {
		return nil, err
	}
	out := time.Now()
	if err := c.vacated(ctx, n, c.daemons.but(n)); err != nil {
		return nil, err
	}
	values[recovery] = time.Since(out).Seconds()
	return values, nil
}

// drain has an OSD leave in good order: it is marked out, and ends once all its data is elsewhere. After a time it returns.
func (c *cluster) drain(ctx context.Context, n int, away time.Duration) (map[string]float64, error) {
	began := time.Now()
	if err := c.vacated(ctx, n, c.daemons.all()); err != nil {
		return nil, err
	}
	values := map[string]float64{departure: time.Since(began).Seconds()}
	if _, err := c.end(ctx, n, "TERM"); err != nil {
		return nil, err
	}
	err := rest(ctx, away)
	if err = errors.Join(err, c.startAgain(ctx, n)); err != nil {
		return nil, err
	}
	if err := c.monitor.Order(ctx, fmt.Sprintf("osd in %d", n)); err != nil {
		return nil, fmt.Errorf("mark %s in: %w", osd(n), err)
	}
	restored, err := c.recover(ctx, 0)
	maps.Copy(values, restored)
	return values, err
}

// vacated marks an OSD out, and waits until some OSDs have all copies of all data without it. This is what the command safe-to-destroy tests, which
// requires a manager.
func (c *cluster) vacated(ctx context.Context, n int, osds []int) error {
	if err := c.monitor.Order(ctx, fmt.Sprintf("osd out %d", n)); err != nil {
		return fmt.Errorf("mark %s out: %w", osd(n), err)
	}
	m, err := c.daemons.known(ctx)
	if err != nil {
		return err
	}
	return until(ctx, recovering, "redundancy without "+osd(n), func(ctx context.Context) (string, error) {
		if lack, err := c.lacking(ctx, m.epoch, osds); lack != "" || err != nil || !slices.Contains(osds, n) {
			return lack, err
		}
		return c.daemons.serving(ctx, n)
	})
}

// serving reports placement groups that an OSD still takes part in. Those that it only has to delete are not.
func (d *daemons) serving(ctx context.Context, n int) (string, error) {
	all, err := d.groupStates(ctx, n)
	taking := 0
	for _, g := range all {
		if strings.HasPrefix(g.Currently, "Started/Primary") || strings.HasPrefix(g.Currently, "Started/ReplicaActive") {
			taking++
		}
	}
	if taking == 0 {
		return "", err
	}
	return fmt.Sprintf("%s serves %d placement groups", osd(n), taking), err
}

// all are the numbers of all OSDs.
func (d *daemons) all() []int { return d.but(-1) }

// but are the numbers of all OSDs but one.
func (d *daemons) but(one int) (all []int) {
	for n := range d.osds {
		if n != one {
			all = append(all, n)
		}
	}
	return all
}
