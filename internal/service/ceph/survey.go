package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/admin"
)

// Space is what a cluster that a user provides has.
type Space struct {
	Hosts, OSDs int   // that are up
	Total, Free int64 // bytes of data that the pool can hold, after its redundancy
}

// Survey queries the cluster of a ceph.conf for its hosts, and for the space of a pool.
func Survey(ctx context.Context, m platform.Machine, conf, pool string) (Space, error) {
	if _, err := find(ctx, m, "ceph"); err != nil {
		return Space{}, err
	}
	c := admin.Monitor{Machine: m, Conf: conf}
	answers, err := c.Ask(ctx, "df", "osd tree")
	if err != nil {
		return Space{}, fmt.Errorf("survey the cluster of %s: %w", conf, err)
	}
	s, err := spaceOf(answers[0], answers[1], pool)
	if err != nil {
		return Space{}, fmt.Errorf("survey the cluster of %s: %w", conf, err)
	}
	return s, nil
}

// spaceOf reads the answers to "df" and "osd tree".
func spaceOf(df, tree []byte, pool string) (s Space, err error) {
	var used struct {
		Pools []struct {
			Name  string `json:"name"`
			Stats struct {
				Stored    int64 `json:"stored"`
				Available int64 `json:"max_avail"`
			} `json:"stats"`
		} `json:"pools"`
	}
	if err := json.Unmarshal(df, &used); err != nil {
		return s, fmt.Errorf("parse the space of pools: %w", err)
	}
	var nodes struct {
		Nodes []struct {
			ID       int    `json:"id"`
			Type     string `json:"type"`
			Status   string `json:"status"`
			Children []int  `json:"children"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(tree, &nodes); err != nil {
		return s, fmt.Errorf("parse the tree of OSDs: %w", err)
	}
	up := map[int]bool{}
	for _, n := range nodes.Nodes {
		if n.Type == "osd" && n.Status == "up" {
			up[n.ID] = true
		}
	}
	for _, n := range nodes.Nodes {
		holds := false
		for _, child := range n.Children {
			holds = holds || up[child]
		}
		if n.Type == "host" && holds {
			s.Hosts++
		}
	}
	s.OSDs = len(up)
	for _, p := range used.Pools {
		if p.Name == pool {
			s.Free, s.Total = p.Stats.Available, p.Stats.Available+p.Stats.Stored
			return s, nil
		}
	}
	if len(used.Pools) == 0 {
		return s, errors.New("it reports no space of pools, which its manager does: start ceph-mgr")
	}
	return s, fmt.Errorf("it has no pool %q", pool)
}
