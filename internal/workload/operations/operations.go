// Package operations is a workload of management operations: it creates VMs of its own on a
// platform that manages VMs, and powers on, powers off, clones, moves and deletes them, as many at
// a time as asked for. The load is on the control plane: nothing runs in the VMs.
package operations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/owner"
)

// Parameters are what a study may set.
type Parameters struct {
	Variant string             `name:"variant" doc:"mix: operations of the run list on existing VMs; workflow: each thread creates a VM, powers it on and off and deletes it" choices:"mix,workflow"`
	List    string             `name:"run_list" doc:"operations of variant mix with their weights, such as power-on 2, power-off 2, migrate 1"`
	Slots   int                `name:"threads" doc:"maximum operations in flight" min:"1" max:"256"`
	PerHost int                `name:"per_host" doc:"operations in flight on a host at most; a migration counts on both hosts" min:"1" max:"8"`
	VMs     int                `name:"vms" doc:"VMs of variant mix that are created before the load, half of them powered on" min:"2" max:"20000"`
	CPUs    int                `name:"cpus" doc:"vCPUs of a VM" min:"1" max:"64"`
	Memory  parameter.Bytes    `name:"memory" doc:"memory of a VM, in MiB" min:"4MiB" max:"4GiB"`
	Disk    parameter.Bytes    `name:"disk" doc:"size of the thin disk of a VM; 0B is none" max:"8GiB"`
	Ceiling parameter.Duration `name:"ceiling" doc:"duration of an extra load without modelled times after each load on a simulator, which measures the capacity of simulator and client; 0s disables it" max:"1m"`
	Owner   string             `name:"owner" doc:"mark in the notes of the VMs; VMs with the mark are removed before and after a study, unless they belong to another plimsoll that runs"`

	workload.Pace `threads:"-" rate:"offered load in operations per second; empty is a closed loop" timeout:"time limit of an operation; one that takes longer is cancelled and counts as failed" shape:"-" trace:"-"`
}

const (
	mix      = "mix"
	workflow = "workflow"
)

func defaults() Parameters {
	return Parameters{
		Variant: mix, List: "power-on 2, power-off 2, reconfigure 1, migrate 1", Slots: 8, PerHost: 1, VMs: 64,
		CPUs: 1, Memory: 128 << 20, Disk: 0, Ceiling: parameter.Duration(2 * time.Second), Owner: "plimsoll", Pace: workload.ControlPace(5 * time.Minute),
	}
}

// Kind is the workload as the catalog lists it. The clients of platforms are handed in: those
// of an agent would be too large.
func Kind(platforms map[string]management.Opener) workload.Kind {
	var classes []string
	for _, k := range management.Kinds() {
		classes = append(classes, string(k))
	}
	return workload.Define(workload.Kind{
		Name:    "operations",
		Doc:     "management operations on VMs: power, clone, create, reconfigure, migrate, snapshot, delete",
		Rate:    "operations",
		Needs:   "a vCenter, the built-in simulator of one, hosts with libvirt, or Proxmox VE",
		Metrics: slices.Concat(measure.OperationMetrics("operations", classes...), measure.ScheduleMetrics(classes...), own(classes), measure.ClientMetrics("operation")),
		Speaks:  []string{"vsphere", "libvirt", "proxmox"},
		Own:     true,
		Lab:     true,
	}, defaults(), func(p Parameters) (workload.Load, error) { return build(p, platforms) })
}

// own are the metrics that operations and schedules in general do not have.
func own(classes []string) []measure.Metric {
	all := append(timesOf("held", "wait of an operation for a VM and a host that are free, which is part of its response time"),
		measure.Metric{Name: "ceiling.operations", Unit: "1/s", Doc: "operations per second of the same mix without the modelled times of a simulator: the limit of simulator and client"},
		measure.Metric{Name: "ceiling.share", Unit: "1", Doc: "operations per second of the whole load as a share of ceiling.operations", Better: measure.LowerIsBetter})
	for _, c := range append([]string{""}, classes...) {
		dot, what := c, "operations"
		if c != "" {
			dot, what = c+".", c+" operations"
		}
		all = append(all, timesOf(dot+"queue", "time that "+what+" waited in the platform for their start")...)
		all = append(all, timesOf(dot+"run", "time from start to end of "+what+", by the platform's clock")...)
	}
	return all
}

// timesOf are the metrics of times.
func timesOf(name, what string) []measure.Metric {
	all := []measure.Metric{
		{Name: name + ".mean", Unit: "s", Doc: "mean " + what, Better: measure.LowerIsBetter},
		{Name: name + ".max", Unit: "s", Doc: "longest " + what, Better: measure.LowerIsBetter},
	}
	for _, q := range measure.Quantiles {
		all = append(all, measure.Metric{Name: name + "." + q.Name, Unit: "s", Doc: q.Name + " of the " + what, Better: measure.LowerIsBetter})
	}
	return all
}

func build(p Parameters, platforms map[string]management.Opener) (workload.Load, error) {
	l := &operations{Parameters: p, platforms: platforms}
	var err error
	switch {
	case p.Variant == workflow && p.List != defaults().List:
		return nil, errors.New("run_list is for variant mix: variant workflow has its own operations")
	case p.Variant == workflow:
		l.mix = workflowMix()
	default:
		if l.mix, err = parseList(p.List); err != nil {
			return nil, err
		}
	}
	if p.Memory%(1<<20) != 0 {
		return nil, fmt.Errorf("memory must be whole MiB and is %s", p.Memory)
	}
	if strings.TrimSpace(p.Owner) != p.Owner || p.Owner == "" || strings.ContainsFunc(p.Owner, unicode.IsControl) {
		return nil, errors.New("owner must be a word, without spaces around it: it tells the VMs of the load from others")
	}
	l.offer, err = p.Offered()
	return l, err
}

type operations struct {
	Parameters
	platforms map[string]management.Opener // by protocol
	mix       []share
	offer     workload.Offer
	lab       owner.Lab
}

// entry is the number of a kind in the mix.
func (l *operations) entry(kind management.Kind) int {
	return slices.IndexFunc(l.mix, func(s share) bool { return s.kind == kind })
}

// mark are the lines of notes in each VM that say whose it is.
func (l *operations) mark() string { return owner.Mark(l.Owner) }

// note is the mark, and who the VMs belong to.
func (l *operations) note() string { return owner.Note(l.Owner, l.lab) }

// Demand is that of the threads, or as many as the rate offers.
func (l *operations) Demand() load.Demand {
	var classes []load.Class
	for _, s := range l.mix {
		classes = append(classes, load.Class{Name: string(s.kind), Share: s.part})
	}
	return l.offer.Demand(l.Slots, classes...)
}

// connect opens the platform of the study.
func (l *operations) connect(ctx context.Context, env workload.Env) (management.Platform, error) {
	if env.Target == nil {
		return nil, errors.New("the workload operations requires a management platform: add the service vcenter or live to the study")
	}
	var err error
	for _, protocol := range slices.Sorted(maps.Keys(l.platforms)) {
		var at load.Endpoint
		if at, err = env.Target(protocol); err == nil {
			return l.platforms[protocol](ctx, at)
		}
	}
	return nil, fmt.Errorf("%w: %w", errNone, err)
}

// errNone is of a study whose service does not run.
var errNone = errors.New("no management platform runs")

// survey lists hosts and the VMs of this owner.
func (l *operations) survey(ctx context.Context, p management.Platform) (management.Survey, error) {
	s, err := p.Survey(ctx, owner.Prefix, l.mark())
	if err != nil {
		return s, fmt.Errorf("list the hosts and VMs: %w", err)
	}
	if len(s.Hosts) == 0 {
		return s, &workload.Refused{Err: errors.New("no host can get VMs: connect one, or end its maintenance")}
	}
	return s, l.suits(s)
}

// suits refuses a run list that the platform cannot carry out.
func (l *operations) suits(s management.Survey) error {
	for _, kind := range s.Lacks {
		if l.entry(kind) >= 0 {
			return &workload.Refused{Err: fmt.Errorf("the platform has no operation %s: remove it from run_list", kind)}
		}
	}
	if s.DiskSnapshots && l.Disk == 0 && l.entry(management.Snapshot) >= 0 {
		return &workload.Refused{Err: errors.New("the platform takes snapshots of disks only: set disk, or remove snapshot from run_list")}
	}
	if l.moves() && len(s.Hosts) < 2 {
		return &workload.Refused{Err: errors.New("the run list moves VMs, and only one host can get them: remove migrate and relocate from run_list, or connect another host")}
	}
	return nil
}

// Check connects to the platform if it runs already.
func (l *operations) Check(ctx context.Context, env workload.Env) (needs workload.Needs, err error) {
	needs.Time = time.Duration(l.base()) * 100 * time.Millisecond
	if env.Target == nil {
		return needs, nil // it will be started
	}
	p, err := l.connect(ctx, env)
	if err != nil {
		return needs, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if _, err := l.survey(ctx, p); err != nil {
		return needs, err
	}
	if err := l.authorize(ctx, p); err != nil {
		return needs, err
	}
	needs.Changes = []string{fmt.Sprintf("creates up to %d VMs named %s* in the cluster, and removes them and all others of owner %q", l.most(), owner.Prefix, l.Owner)}
	return needs, nil
}

// moves reports whether the mix moves VMs between hosts.
func (l *operations) moves() bool {
	return slices.ContainsFunc(l.mix, func(s share) bool { return s.kind == management.Migrate || s.kind == management.Relocate })
}

// base is how many VMs there are before a load.
func (l *operations) base() int {
	if l.Variant == workflow {
		return 0
	}
	return l.VMs
}

// most is how many VMs there are at most.
func (l *operations) most() int { return 2*l.base() + 4*l.Slots }
