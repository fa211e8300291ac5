// Package hci sizes the easy run of a hyper-converged storage cluster: from a survey of the cluster and this host follow its jobs, each a study. It is pure.
package hci

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/parameter"
)

// Survey is what an easy run is sized by.
type Survey struct {
	CPUs   int             `json:"cpus"`   // of this host
	Memory parameter.Bytes `json:"memory"` // of this host
	Disk   parameter.Bytes `json:"disk"`   // free, below the results folder
	// Copies is the number of bytes that a private cluster writes to this host's disks for each byte; 0 without one.
	Copies float64 `json:"copies,omitempty"`
	// Cluster is one that the user provides; nil starts a private one on this host.
	Cluster *Cluster `json:"cluster,omitempty"`
}

// Lines are the survey as text.
func (s Survey) Lines() []string {
	host := fmt.Sprintf("this host: %s, %s of memory, %s of disk space free", count(s.CPUs, "CPU"), s.Memory.About(), s.Disk.About())
	if c := s.Cluster; c != nil {
		return []string{host, fmt.Sprintf("cluster: %s on %s; the pool can hold %s, of which %s are free", count(c.OSDs, "OSD"), count(c.Hosts, "host"), c.Total.About(), c.Free.About())}
	}
	return []string{host, "cluster: a private one on this host; to measure your own, set ceph.address to its ceph.conf and ceph.pool"}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Cluster is a cluster that exists.
type Cluster struct {
	Hosts int             `json:"hosts"` // with OSDs
	OSDs  int             `json:"osds"`
	Total parameter.Bytes `json:"total"` // data that its pool can hold
	Free  parameter.Bytes `json:"free"`
}

// Profile is a latency target, which the load must keep: p95 of the response time.
type Profile string

// The profiles of HCIBench. Max has no target.
const (
	Max    Profile = "max"
	Low    Profile = "low"
	Medium Profile = "medium"
	High   Profile = "high"
)

// targets are the limits of p95 at random and sequential access, in ms. Source: the code of HCIBench 3.0; its manual has 3 and 5 ms for medium, 5 and 10 ms
// for high.
var targets = map[Profile][2]int{Low: {1, 3}, Medium: {5, 10}, High: {10, 20}}

// Policy sizes the load.
type Policy string

// The policies.
const (
	Small    Policy = "small"    // minutes, on any host
	HCIBench Policy = "hcibench" // sizes and times of HCIBench's easy run
)

// Options choose an easy run.
type Options struct {
	Policy  Policy
	Profile Profile
	Jobs    []string // names; nil for all
}

// prefix is that of options among the overrides of a study.
const prefix = "hci."

// OptionsOf reads the options among overrides such as hci.profile=low, and returns the other overrides. Its errors are mistakes.
func OptionsOf(sets []string) (o Options, others []string, err error) {
	o = Options{Policy: Small, Profile: Max}
	for _, set := range sets {
		option, is := strings.CutPrefix(set, prefix)
		if !is {
			others = append(others, set)
			continue
		}
		name, value, _ := strings.Cut(option, "=")
		var known []string
		switch name {
		case "policy":
			o.Policy, known = Policy(value), []string{string(Small), string(HCIBench)}
		case "profile":
			o.Profile, known = Profile(value), []string{string(Max), string(Low), string(Medium), string(High)}
		case "jobs":
			o.Jobs = strings.Split(value, ",")
			for _, job := range o.Jobs {
				if err := oneOf("jobs", job, jobNames()); err != nil {
					return o, nil, err
				}
			}
			continue
		default:
			return o, nil, unknown("option", prefix+name, []string{prefix + "policy", prefix + "profile", prefix + "jobs"})
		}
		if err := oneOf(name, value, known); err != nil {
			return o, nil, err
		}
	}
	return o, others, nil
}

func oneOf(name, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return unknown(prefix+name+":", value, known)
}

func unknown(what, value string, known []string) error {
	if near := parameter.Nearest(value, known); near != "" {
		return fmt.Errorf("%s %q is unknown; did you mean %q?", what, value, near)
	}
	return fmt.Errorf("%s %q is unknown; known: %s", what, value, strings.Join(known, ", "))
}
