// Package dense is the published rule of dense mode: batch the network work of a host while it
// carries many VMs for its CPUs and is busy. It is pure: counters of an interval in, a decision out.
package dense

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// The published rule: dense mode is on while a host has at least as many VMs as CPUs, twice as
// many vCPUs as CPUs, and half of its CPU time in use. It is checked every 60 s, and off again
// as soon as one of the three is below. There is no band between on and off: the interval alone
// keeps the rule from switching often.
const (
	VMsPerCPU        = 1
	VCPUsPerCPU      = 2
	LeastUtilization = 0.5
	Every            = 60 * time.Second
)

// Name is the name of the rule.
const Name = "dense"

// Counters are what a host shows of an interval.
type Counters struct {
	CPUs        int     `json:"cpus"`        // online
	VMs         int     `json:"vms"`         // at the end of the interval, containers included
	VCPUs       int     `json:"vcpus"`       // of these VMs and containers
	Utilization float64 `json:"utilization"` // share of the time of all CPUs in the interval, 0 to 1
}

// Decision is what the rule says of an interval.
type Decision struct {
	On         bool        `json:"on"`
	Changed    bool        `json:"changed"` // it was the other way before
	Reason     string      `json:"reason"`  // in words, with the evidence
	Conditions []Condition `json:"conditions,omitempty"`
}

// Condition is one of the three conditions of the rule.
type Condition struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Least float64 `json:"least"` // it is met from here on
	Met   bool    `json:"met"`
}

// Decide applies the rule to an interval. Whether dense mode was on before decides nothing but
// Changed. Counters that no host can have turn it off.
func Decide(on bool, seen Counters) Decision {
	d := Decision{}
	if why := seen.wrong(); why != "" {
		d.Reason = "off: " + why
		d.Changed = on
		return d
	}
	type row struct {
		Condition
		value, least string
	}
	condition := func(name string, value, least float64) Condition {
		return Condition{Name: name, Value: value, Least: least, Met: value >= least}
	}
	rows := []row{
		{condition("vms", float64(seen.VMs), float64(VMsPerCPU*seen.CPUs)), count(seen.VMs, "VM"), fmt.Sprint(VMsPerCPU * seen.CPUs)},
		{condition("vcpus", float64(seen.VCPUs), float64(VCPUsPerCPU*seen.CPUs)), count(seen.VCPUs, "vCPU"), fmt.Sprint(VCPUsPerCPU * seen.CPUs)},
		{condition("utilization", seen.Utilization, LeastUtilization), percent(seen.Utilization) + " of CPU time", percent(LeastUtilization)},
	}
	d.On = true
	var met, unmet []string
	for _, r := range rows {
		d.Conditions = append(d.Conditions, r.Condition)
		if r.Met {
			met = append(met, fmt.Sprintf("%s (at least %s)", r.value, r.least))
		} else {
			unmet = append(unmet, fmt.Sprintf("%s (below %s)", r.value, r.least))
			d.On = false
		}
	}
	d.Changed = d.On != on
	on, evidence := d.On, met
	if !on {
		evidence = unmet
	}
	d.Reason = fmt.Sprintf("%s: %s on %s", word(on), strings.Join(evidence, ", "), count(seen.CPUs, "CPU"))
	return d
}

// wrong is what is wrong with counters; empty for nothing.
func (c Counters) wrong() string {
	switch {
	case c.CPUs <= 0:
		return "the host shows no CPU"
	case c.VMs < 0 || c.VCPUs < 0:
		return "the host shows less than no VM"
	case !(c.Utilization >= 0) || math.IsInf(c.Utilization, 1):
		return "the host shows no CPU time"
	}
	return ""
}

func word(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// percent rounds down, so that a share below a threshold is never printed as the threshold.
func percent(share float64) string {
	return fmt.Sprintf("%.4g %%", math.Floor(share*1000)/10)
}
