// Package certify judges whether a trial is valid: the rules of its certificate, each with its limit and the reason
// for it. It is pure.
package certify

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/trial/window"
)

// Evidence is the input of a certificate.
type Evidence struct {
	Record    *measure.Record
	Demand    load.Demand
	Operation string // name of the operation rate
	Steady    window.Steadiness
	Drift     float64            // allowed over the window, by the study
	Worker    map[string]float64 // values that the workload reported
	Simulated bool
	Hosted    bool  // the machine is a guest that plimsoll started
	Failed    int64 // operations, over the whole load
	Limited   bool  // failed operations are held against a limit of the group instead
	AtLeast   bool  // the trial is a search that claims a lower bound only, which held although CPU time was stolen
	Intervals []measure.Interval
	Seldom    map[string]string // counters read too seldom in the window, with the number of reads
	Ended     Ending
	Disks     []Space
	ReadBack  []Reading
}

// Ending is how a load ended.
type Ending struct {
	Enough bool          // because enough was measured
	Ran    time.Duration // end of the last interval
	Length time.Duration // longest it could have run
	Step   time.Duration // length of an interval
}

// Space is the free space of a file system.
type Space struct {
	What        string
	Free, Total float64 // bytes
}

// Reading is a level as wanted and as seen in effect.
type Reading struct {
	Factor, Want, Seen string
	Known              bool // seen at all
}

// rule is one line of the certificate. Its limit is the largest value that
// passes, and reason says why it lies there.
type rule struct {
	name   string
	limit  float64
	reason string
	voids  bool // a trial that fails it cannot be trusted; the others are warnings, since the load itself may be the cause
	judge  func(e *Evidence, limit float64) (measure.State, string)
}

// rules is the certificate, in the order in which it is shown. The first rule
// that fails and voids names the cause.
var rules = []rule{
	{"load ended early", 2, "intervals short of its length; the last one may be cut off", true, early},
	{"errors", 0, "failed operations; fewer operations that succeed are not a better system", true, failures},
	{"read back", 0, "levels that differ; a level that was not in effect was not measured", true, levels},
	{"warm-up", .5, "share of the load that is cut; MSER-5 beyond a half is the end of a change", false, warmup},
	{"drift", window.LeastDrift, "change over the window as a share of the mean, or the margin of the study where that is larger", true, drift},
	{"little's law", .02, "|X*R/N - 1| of a closed loop; beyond it the latency or the concurrency is wrong", true, little},
	{"reported mix", .05, "a class's share of the operations against the demand", true, mix},
	{"generator limit", .8, "CPUs used by each thread of the load generator; beyond it they delay the operations that they time", true, generator},
	{"steal", .1, "share of CPU time that the hypervisor gave to others; beyond it the trial measures the neighbours", true, steal},
	{"cpu pressure", .25, "share of time in which some task waited for a CPU; the load may have been one of them", false, pressure},
	{"throttling", .01, "share of time in which a quota stopped the group; it is the quota that is measured", false, throttling},
	{"time sync", 0, "clocks not synchronised; durations come from the monotonic clock, the time of day does not", false, synchronised},
	{"disk space", .95, "share of a file system in use, and 1 GiB left; fuller ones allocate differently, or fail", false, room},
}

// Judge judges every rule, or those that are named, and returns the certificate,
// with the cause that makes the trial void, if there is one.
func Judge(e *Evidence, only ...string) (checks []measure.Check, void string) {
	for _, r := range rules {
		if only != nil && !slices.Contains(only, r.name) {
			continue
		}
		state, detail := r.judge(e, r.limit)
		voids := r.voids && !(e.AtLeast && r.name == "steal")
		if state == measure.Fail && !voids {
			detail += "; a warning: the trial counts"
		}
		checks = append(checks, measure.Check{Name: r.name, State: state, Detail: detail})
		if state != measure.Fail || !voids || void != "" {
			continue
		}
		void = r.name + ": " + detail
		if r.name == "drift" {
			void = "no steady state: " + detail
		}
	}
	return checks, void
}

func verdict(good bool, format string, args ...any) (measure.State, string) {
	if good {
		return measure.Pass, fmt.Sprintf(format, args...)
	}
	return measure.Fail, fmt.Sprintf(format, args...)
}

func unknown(format string, args ...any) (measure.State, string) {
	return measure.Unknown, fmt.Sprintf(format, args...)
}

func early(e *Evidence, limit float64) (measure.State, string) {
	if e.Ended.Enough {
		return verdict(true, "ended after %.3g s, when enough was measured", e.Ended.Ran.Seconds())
	}
	short := float64(e.Ended.Length-e.Ended.Ran) / float64(max(e.Ended.Step, 1))
	return verdict(short <= limit, "ran %.3g s of %.3g s", e.Ended.Ran.Seconds(), e.Ended.Length.Seconds())
}

func failures(e *Evidence, limit float64) (measure.State, string) {
	good := e.Record.Counts["operations"]
	return verdict((float64(e.Failed) <= limit || e.Limited) && good > 0, "%d failed operations, warm-up included, and %d good ones in the window", e.Failed, good)
}

func levels(e *Evidence, _ float64) (measure.State, string) {
	var unseen []string
	for _, r := range e.ReadBack {
		switch {
		case !r.Known:
			unseen = append(unseen, r.Factor)
		case r.Seen != r.Want:
			return verdict(false, "%s reads %q instead of %q", r.Factor, r.Seen, r.Want)
		}
	}
	switch {
	case len(e.ReadBack) == 0:
		return verdict(true, "nothing is varied")
	case len(unseen) > 0:
		return unknown("the workload does not report its effective settings: %s", strings.Join(unseen, ", "))
	}
	return verdict(true, "every level was read back where it takes effect")
}

func warmup(e *Evidence, _ float64) (measure.State, string) {
	w := e.Record.Window
	return e.Steady.Cut, fmt.Sprintf("%.3g s of %.3g s were cut: %s", w.Cut, w.End, e.Steady.Why)
}

func drift(e *Evidence, limit float64) (measure.State, string) {
	if e.Demand.Ramps {
		return verdict(true, "%s", ramping)
	}
	w, limit := e.Record.Window, max(limit, e.Drift)
	what := "the rate"
	if e.Demand.Rate > 0 { // the gate looked at both, and kept the larger
		what = "the rate or the response time"
	}
	detail := fmt.Sprintf("%s over the window, allowed %s", trend(what, w.Drift), measure.Percent(limit))
	switch w.Steady {
	case measure.Steady:
		return measure.Pass, detail
	case measure.Drifting:
		return measure.Fail, detail
	}
	return measure.Unknown, detail + "; too noisy or too short to tell"
}

// ramping is the detail of rules that ask for a steady state.
const ramping = "a ramp has no steady state"

// trend says how the line through a curve changes over the window. A line that
// changes by more than its mean crosses zero: its size says nothing more.
func trend(what string, change float64) string {
	verb, size := "rises", measure.Percent(math.Abs(change))
	if change < 0 {
		verb = "falls"
	}
	if math.Abs(change) > 1 {
		return fmt.Sprintf("%s %s by more than its mean", what, verb)
	}
	return fmt.Sprintf("%s %s by %s", what, verb, size)
}

// leastOfClass is how many operations there must be for each class before their shares say
// something: users who have just begun all do what comes first.
const leastOfClass = 10

func mix(e *Evidence, limit float64) (measure.State, string) {
	total := float64(e.Record.Counts["operations"])
	if len(e.Demand.Classes) < 2 || total == 0 {
		return verdict(true, "one class of operation")
	}
	if total < float64(leastOfClass*len(e.Demand.Classes)) {
		return unknown("%.0f operations of %d classes are too few to tell", total, len(e.Demand.Classes))
	}
	var all, wrong []string
	for _, c := range e.Demand.Classes {
		share := float64(e.Record.Counts[c.Name+".operations"]) / total
		all = append(all, fmt.Sprintf("%s %s of %s", c.Name, measure.Percent(share), measure.Percent(c.Share)))
		// Three standard errors of a share drawn at random are no fault of the mix.
		slack := 3 * math.Sqrt(c.Share*(1-c.Share)/total)
		if math.Abs(share-c.Share) > limit+slack {
			wrong = append(wrong, all[len(all)-1])
		}
	}
	if len(wrong) > 0 {
		return verdict(false, "%s", strings.Join(wrong, ", "))
	}
	return verdict(true, "%s", strings.Join(all, ", "))
}

// The counters that the rules read.
const (
	StealCounter = "cpu.steal" // CPUs
	CountCounter = "cpu.count" // CPUs
	cpuPressure  = "pressure.cpu.some"
	throttled    = "cgroup.throttled"
	clockCounter = "clock.synchronised" // 1 or 0
)

func generator(e *Evidence, limit float64) (measure.State, string) {
	used, ok := e.Worker[measure.GeneratorCPU]
	switch {
	case !ok && e.Simulated:
		return verdict(true, "simulated operations take no CPU")
	case !ok:
		return unknown("the workload does not report the CPU time of its workers")
	case e.Hosted && used > limit:
		// A guest is under test with all that runs in it.
		return unknown("each thread of the load generator used %s of a guest CPU, which is part of the system under test", measure.Percent(used))
	}
	return verdict(used <= limit, "each thread of the load generator used %s of a CPU, allowed %s", measure.Percent(used), measure.Percent(limit))
}

// counter judges a counter that must not pass its limit, taken as a share of whole.
func counter(e *Evidence, name string, whole, limit float64) (measure.State, string) {
	v, ok := e.Record.Counters[name]
	switch {
	case !ok && e.Simulated:
		return verdict(true, "a simulated machine has none")
	case !ok && e.Seldom[name] != "":
		return unknown("%s was %s", name, e.Seldom[name])
	case !ok || whole <= 0:
		return unknown("no counter %s", name)
	}
	return verdict(v/whole <= limit, "%s of the time, allowed %s", measure.Percent(v/whole), measure.Percent(limit))
}

func steal(e *Evidence, limit float64) (measure.State, string) {
	return counter(e, StealCounter, e.Record.Counters[CountCounter], limit)
}

func pressure(e *Evidence, limit float64) (measure.State, string) {
	return counter(e, cpuPressure, 1, limit)
}

func throttling(e *Evidence, limit float64) (measure.State, string) {
	return counter(e, throttled, 1, limit)
}

func synchronised(e *Evidence, _ float64) (measure.State, string) {
	v, ok := e.Record.Counters[clockCounter]
	switch {
	case e.Simulated:
		return verdict(true, "virtual time")
	case !ok && e.Seldom[clockCounter] != "":
		return unknown("%s was %s", clockCounter, e.Seldom[clockCounter])
	case !ok:
		return unknown("no counter %s", clockCounter)
	}
	if v < 1 {
		return unknown("the clock is not synchronised; on one machine nothing depends on it, and durations never do")
	}
	return verdict(true, "the clock is synchronised")
}

// leastLeft is the least free space of a file system, whatever its size.
const leastLeft = 1 << 30

func room(e *Evidence, limit float64) (measure.State, string) {
	if len(e.Disks) == 0 {
		return unknown("the space left could not be read")
	}
	tightest := slices.MinFunc(e.Disks, func(a, b Space) int {
		return int(math.Copysign(1, a.Free/a.Total-b.Free/b.Total))
	})
	good := true
	for _, d := range e.Disks {
		good = good && d.Free >= leastLeft && d.Free >= (1-limit)*d.Total
	}
	return verdict(good, "%.3g GiB left, %s of the file system of the %s", tightest.Free/(1<<30), measure.Percent(tightest.Free/tightest.Total), tightest.What)
}

// Reasoned adds the usual reasons to a cause by failed operations: the first error of
// connections, faults that the workload reports, and its failed checks.
func Reasoned(cause string, noted []measure.Check) string {
	if !strings.HasPrefix(cause, "errors: ") {
		return cause
	}
	for _, c := range noted {
		if c.Detail != "" && (c.Name == "connections" || c.Name == "faults" || c.State == measure.Fail) {
			cause += "; " + c.Detail
		}
	}
	return cause
}

// DataFailed is the cause of a trial that a failed check of data voids.
func DataFailed(c measure.Check) string { return "data check failed: " + c.Name + ": " + c.Detail }
