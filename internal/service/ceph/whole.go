package ceph

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/service/ceph/health"
)

// recover waits until all OSDs are up and have restored the redundancy, after one of them was away that takes part in so many placement groups.
func (c *cluster) recover(ctx context.Context, held int) (map[string]float64, error) {
	began := time.Now()
	first := 0 // the first map with all OSDs; idle OSDs may hear of a later one after minutes only
	err := until(ctx, recovering, "redundancy", func(ctx context.Context) (string, error) {
		m, err := c.daemons.known(ctx)
		if err != nil || m.up < c.daemons.osds {
			first = 0
			c.worst.Note(float64(held))
			return fmt.Sprintf("%d of %d OSDs are up", m.up, c.daemons.osds), err
		}
		if first == 0 {
			first = m.epoch
		}
		return c.lacking(ctx, first, c.daemons.all())
	})
	return map[string]float64{recovery: time.Since(began).Seconds()}, err
}

// lacking reports what OSDs lack until they know a map and, by it, have all copies of all data.
func (c *cluster) lacking(ctx context.Context, epoch int, osds []int) (string, error) {
	c.look(ctx, osds)
	for _, n := range osds {
		if is, err := c.daemons.status(ctx, n); err != nil || is.Map < epoch {
			return fmt.Sprintf("%s has map %d, and map %d is in effect", osd(n), is.Map, epoch), err
		}
	}
	if busy, err := c.daemons.degraded(ctx, osds); busy != "" || err != nil {
		return busy, err
	}
	all, err := c.daemons.groupsOf(ctx, osds)
	for _, g := range all {
		if g.Epoch < epoch || health.LacksCopies(g.State) || strings.Contains(g.State, "remapped") {
			return fmt.Sprintf("placement group %s is %s by map %d", g.Name, g.State, g.Epoch), nil
		}
	}
	return "", err
}

// group is a placement group as its primary OSD sees it.
type group struct {
	Name  string `json:"-"`
	State string `json:"state"` // such as active+undersized+degraded
	Epoch int    `json:"epoch"` // of the map by which it acts
}

// groupsOf are the placement groups of which some OSDs are primary. The history of states does not tell whether one is undersized.
func (d *daemons) groupsOf(ctx context.Context, osds []int) (all []group, err error) {
	for _, n := range osds {
		states, err := d.groupStates(ctx, n)
		if err != nil {
			return nil, err
		}
		for _, g := range states {
			if _, primary := g.primary(); !primary {
				continue
			}
			one := group{}
			if err := d.command(ctx, osd(n), map[string]any{"prefix": "query", "pgid": g.Name}, &one); err != nil {
				return nil, err
			}
			one.Name = g.Name
			all = append(all, one)
		}
	}
	return all, nil
}

// look notes how many placement groups lack copies now, if it is time to.
func (c *cluster) look(ctx context.Context, osds []int) {
	if !c.worst.Due() {
		return
	}
	if n, err := c.daemons.lackingCopies(ctx, osds); err == nil {
		c.worst.Note(n)
	}
}

// lackingCopies counts the placement groups without all copies, by some OSDs.
func (d *daemons) lackingCopies(ctx context.Context, osds []int) (count float64, err error) {
	all, err := d.groupsOf(ctx, osds)
	for _, g := range all {
		if health.LacksCopies(g.State) {
			count++
		}
	}
	return count, err
}
