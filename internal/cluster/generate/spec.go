// Package generate generates clusters and the demand of their VMs from a seed: sizes of a few
// classes with a heavy tail, pools, rules, and demand with daily and weekly cycles, a part
// common to an application, and noise.
//
// It computes with integers, and the demand of any VM at any minute without the minutes
// before: the same seed gives the same bytes, in any order.
package generate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
)

// Spec describes a cluster. Values out of range are clamped.
type Spec struct {
	Name       string
	Seed       uint64
	Hosts      int
	VMs        int
	Waiting    int   // number of these that are not placed yet
	Pools      int   // besides the root
	Rules      int   // at most; at most one per application
	Networks   int   // at least 1
	Datastores int   // at least 1
	Load       int   // mean CPU demand over a week, in per cent of capacity, if the VMs are large enough; 0 is 50
	Commit     int   // memory of all VMs, in per cent of capacity at most; 0 is 75
	Skew       int   // percentage of VMs that run on the first fifth of the hosts whatever their load
	Mixed      bool  // hosts of three generations
	Minute     int64 // minute of the snapshot; 0 is Monday, midnight
}

// Typical is a typical cluster of a given number of hosts, on a Tuesday at ten.
func Typical(hosts int, seed uint64) Spec {
	hosts = min(max(hosts, 1), mostHosts)
	return Spec{
		Name: "generated", Seed: seed, Hosts: hosts, VMs: hosts * 16, Pools: 2 + hosts/4, Rules: hosts, Networks: 3, Datastores: 4,
		Load: 50, Commit: 75, Skew: 10, Minute: 1440 + 600,
	}
}

// The limits: ten times those of vCenter.
const (
	mostHosts = 20_000
	mostVMs   = 400_000
)

// bounds are the range of a number of a spec.
type bounds struct {
	name        string
	n           *int
	least, most int
}

func (s *Spec) bounds() []bounds {
	return []bounds{
		{"hosts", &s.Hosts, 1, mostHosts}, {"vms", &s.VMs, 0, mostVMs}, {"waiting", &s.Waiting, 0, min(max(s.VMs, 0), mostVMs)},
		{"pools", &s.Pools, 0, 10_000}, {"rules", &s.Rules, 0, 50_000}, {"networks", &s.Networks, 1, 64}, {"datastores", &s.Datastores, 1, 256},
		{"load", &s.Load, 1, 100}, {"commit", &s.Commit, 10, 90}, {"skew", &s.Skew, 0, 100},
	}
}

const mostMinutes = 366 * minutesPerDay

// Validate reports the values out of range, by name and with the range, in one line.
func (s Spec) Validate() error {
	s = s.filled()
	var wrong []string
	say := func(name string, n, least, most int64) {
		if n < least || n > most {
			wrong = append(wrong, fmt.Sprintf("%s is %d: must be from %d to %d", name, n, least, most))
		}
	}
	for _, b := range s.bounds() {
		say(b.name, int64(*b.n), int64(b.least), int64(b.most))
	}
	say("minute", s.Minute, 0, mostMinutes)
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

func (s Spec) filled() Spec {
	if s.Load == 0 {
		s.Load = 50
	}
	if s.Commit == 0 {
		s.Commit = 75
	}
	return s
}

func (s Spec) within() Spec {
	s = s.filled()
	for _, b := range s.bounds() {
		*b.n = min(max(*b.n, b.least), b.most)
	}
	s.Minute = min(max(s.Minute, 0), mostMinutes)
	return s
}

// Cluster generates the cluster of a spec with two hours of history, placed without violations
// of hard constraints. It also returns the mean CPU demand in per cent of capacity, which is
// below the spec if the VMs are too few or too small.
func Cluster(s Spec) (c *cluster.Cluster, load int) {
	t := newTrace(s)
	return t.cluster(), t.load
}

func (t *trace) cluster() *cluster.Cluster {
	s := t.spec
	c := &cluster.Cluster{
		Name: s.Name, Pools: makePools(s), Hosts: t.hosts, Networks: numbered("net", s.Networks), Datastores: numbered("store", s.Datastores),
		Settings: cluster.DefaultSettings(),
	}
	c.VMs = make([]cluster.VM, s.VMs)
	for i := range c.VMs {
		c.VMs[i] = t.vms[i].vm
		c.VMs[i].Waiting = i >= s.VMs-s.Waiting
		c.VMs[i].Demand = t.seen(i, s.Minute)
	}
	c.Rules = t.rules()
	place(c, s)
	return c
}

// History of a generated cluster.
const (
	seenMinutes = 120
	seenEvery   = 5
)

// seen is the demand of a VM over the last two hours.
func (t *trace) seen(i int, now int64) (d cluster.Demand) {
	for m := now - seenMinutes; m <= now; m += seenEvery {
		at := t.sample(i, max(m, 0))
		d.CPU.Add(float64(at.CPU))
		d.Active.Add(float64(at.Active))
		d.Consumed, d.Dirty, d.Link = at.Consumed, at.Dirty, at.Link
	}
	return d
}

// numbered are names with consecutive numbers.
func numbered(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = name + "-" + strconv.Itoa(i+1)
	}
	return list
}
