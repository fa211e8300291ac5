package ceph

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// worst is the most placement groups without all copies in a window.
type worst struct {
	mu     sync.Mutex
	most   float64
	looked time.Time
}

// note adds a number to the present window.
func (w *worst) note(groups float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.most = max(w.most, groups)
}

// turn ends a window with the present number, with which the next one begins.
func (w *worst) turn(groups float64) (most float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	most = max(w.most, groups)
	w.most = groups
	return most
}

// due reports whether it is time to look again while placement groups recover. It takes some milliseconds of the OSDs.
func (w *worst) due() bool {
	const every = 2 * time.Second
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.looked) < every {
		return false
	}
	w.looked = time.Now()
	return true
}

// look notes how many placement groups lack copies now, if it is time to.
func (c *cluster) look(ctx context.Context, osds []int) {
	if !c.worst.due() {
		return
	}
	if n, err := c.daemons.lackingCopies(ctx, osds); err == nil {
		c.worst.note(n)
	}
}

// lackingCopies counts the placement groups without all copies, by some OSDs.
func (d *daemons) lackingCopies(ctx context.Context, osds []int) (count float64, err error) {
	all, err := d.groupsOf(ctx, osds)
	for _, g := range all {
		if lacksCopies(g.State) {
			count++
		}
	}
	return count, err
}

// lacksCopies reports whether some copies or chunks of the data of a placement group are missing, by its state, such as active+undersized+degraded.
// That they are to be elsewhere, remapped, is no lack.
func lacksCopies(state string) bool {
	for one := range strings.SplitSeq(state, "+") {
		switch one {
		case "degraded", "undersized", "down", "incomplete", "stale", "recovery_unfound", "backfill_unfound":
			return true
		}
	}
	return false
}

// moving reports whether data of a placement group is copied or its state is agreed on, which ends by itself.
func moving(state string) bool {
	for one := range strings.SplitSeq(state, "+") {
		switch one {
		case "peering", "activating", "recovering", "recovery_wait", "backfilling", "backfill_wait", "creating":
			return true
		}
	}
	return false
}

// condition is that of a cluster that the user provides, by its monitor.
type condition struct {
	epoch  int
	down   float64 // OSDs that are down and not marked out, or were down after an epoch
	groups float64 // placement groups without all copies
	known  bool    // of groups: a manager reports them
	moving []string
}

// conditionOf reads the answers to "osd dump" and "status". An OSD that came up after an epoch was down in between.
func conditionOf(dump, status []byte, since int) (is condition, err error) {
	var osds struct {
		Epoch int `json:"epoch"`
		OSDs  []struct {
			Up   int `json:"up"`
			In   int `json:"in"`
			From int `json:"up_from"`
		} `json:"osds"`
	}
	if err := json.Unmarshal(dump, &osds); err != nil {
		return is, fmt.Errorf("parse the map of OSDs: %w", err)
	}
	is.epoch = osds.Epoch
	for _, one := range osds.OSDs {
		if one.Up == 0 && one.In > 0 || one.Up > 0 && since > 0 && one.From > since {
			is.down++
		}
	}
	var groups struct {
		Map struct {
			Count  int `json:"num_pgs"`
			States []struct {
				Name  string  `json:"state_name"`
				Count float64 `json:"count"`
			} `json:"pgs_by_state"`
		} `json:"pgmap"`
	}
	if err := json.Unmarshal(status, &groups); err != nil {
		return is, fmt.Errorf("parse the status of the cluster: %w", err)
	}
	is.known = groups.Map.Count > 0
	for _, s := range groups.Map.States {
		if lacksCopies(s.Name) {
			is.groups += s.Count
		}
		if moving(s.Name) {
			is.moving = append(is.moving, fmt.Sprintf("%.0f placement groups are %s", s.Count, s.Name))
		}
	}
	return is, nil
}
