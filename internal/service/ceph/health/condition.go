// Package health reads from the answers of a Ceph cluster whether it is whole, and what ends loads on it or makes them count for nothing.
package health

import (
	"encoding/json"
	"fmt"
	"strings"
)

// LacksCopies reports whether some copies or chunks of the data of a placement group are missing, by its state, such as active+undersized+degraded.
// That they are to be elsewhere, remapped, is no lack.
func LacksCopies(state string) bool {
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

// Condition is that of a cluster that the user provides, by its monitor.
type Condition struct {
	Epoch  int      // of the map of OSDs
	Down   float64  // OSDs that are down and not marked out, or were down after an epoch
	Groups float64  // placement groups without all copies
	Known  bool     // of Groups: a manager reports them
	Moving []string // placement groups that recover or peer, in words
}

// Of reads the answers to "osd dump" and "status". An OSD that came up after an epoch was down in between.
func Of(dump, status []byte, since int) (is Condition, err error) {
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
	is.Epoch = osds.Epoch
	for _, one := range osds.OSDs {
		if one.Up == 0 && one.In > 0 || one.Up > 0 && since > 0 && one.From > since {
			is.Down++
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
	is.Known = groups.Map.Count > 0
	for _, s := range groups.Map.States {
		if LacksCopies(s.Name) {
			is.Groups += s.Count
		}
		if moving(s.Name) {
			is.Moving = append(is.Moving, fmt.Sprintf("%.0f placement groups are %s", s.Count, s.Name))
		}
	}
	return is, nil
}
