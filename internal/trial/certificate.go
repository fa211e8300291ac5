package trial

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// evidence is what the certificate of a trial is made from.
type evidence struct {
	record    *measure.Record
	demand    load.Demand
	operation string // name of the operation rate
	steady    steadiness
	drift     float64            // allowed over the window, by the study
	worker    map[string]float64 // values that the workload took down
	simulated bool
	hosted    bool  // the machine is a guest that plimsoll started
	failed    int64 // operations, over the whole load
	intervals []measure.Interval
	seldom    map[string]string // counters that were read too seldom in the window, and how often
	ended     ending
	disks     []space
	readBack  []reading
}

// ending is how a load ended.
type ending struct {
	enough bool          // because enough was measured
	ran    time.Duration // end of the last interval
	length time.Duration // longest it could have run
	step   time.Duration // length of an interval
}

// space is what is left on a file system.
type space struct {
	what        string
	free, total float64 // bytes
}

// reading is a level as wanted and as seen in effect.
type reading struct {
	factor, want, seen string
	known              bool // seen at all
}

// rule is one line of the certificate. Its limit is the largest value that
// passes, and reason says why it lies there.
type rule struct {
	name   string
	limit  float64
	reason string
	voids  bool // a trial that fails it cannot be trusted; the others are warnings, since the load itself may be the cause
	judge  func(e *evidence, limit float64) (measure.State, string)
}

// rules is the certificate, in the order in which it is shown. The first rule
// that fails and voids names the cause.
var rules = []rule{
	{"load ended early", 2, "intervals short of its length; the last one may be cut off", true, early},
	{"errors", 0, "failed operations; fewer operations that succeed are not a better system", true, failures},
	{"read back", 0, "levels that differ; a level that was not in effect was not measured", true, levels},
	{"warm-up", .5, "share of the load that is cut; MSER-5 beyond a half is the end of a change", false, warmup},
	{"drift", leastDrift, "change over the window as a share of the mean, or the margin of the study where that is larger", true, drift},
	{"little's law", .02, "|X*R/N - 1| of a closed loop; beyond it the latency or the concurrency is not what it is called", true, little},
	{"reported mix", .05, "a class's share of the operations against the demand", true, mix},
	{"generator limit", .8, "CPUs that the load generator uses for each of its threads; beyond it they delay what they measure", true, generator},
	{"steal", .1, "share of CPU time that the hypervisor gave to others; beyond it the trial measures the neighbours", true, steal},
	{"cpu pressure", .25, "share of time in which some task waited for a CPU; the load may have been one of them", false, pressure},
	{"throttling", .01, "share of time in which a quota stopped the group; it is the quota that is measured", false, throttling},
	{"time sync", 0, "clocks not synchronised; durations come from the monotonic clock, the time of day does not", false, synchronised},
	{"disk space", .95, "share of a file system in use, and 1 GiB left; fuller ones allocate differently, or fail", false, room},
}

// certify judges every rule, or those that are named, and returns the certificate,
// with the cause that makes the trial void, if there is one.
func certify(e *evidence, only ...string) (checks []measure.Check, void string) {
	for _, r := range rules {
		if only != nil && !slices.Contains(only, r.name) {
			continue
		}
		state, detail := r.judge(e, r.limit)
		if state == measure.Fail && !r.voids {
			detail += "; a warning: the trial counts"
		}
		checks = append(checks, measure.Check{Name: r.name, State: state, Detail: detail})
		if state != measure.Fail || !r.voids || void != "" {
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

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func early(e *evidence, limit float64) (measure.State, string) {
	if e.ended.enough {
		return verdict(true, "ended after %.3g s, when enough was measured", e.ended.ran.Seconds())
	}
	short := float64(e.ended.length-e.ended.ran) / float64(max(e.ended.step, 1))
	return verdict(short <= limit, "ran %.3g s of %.3g s", e.ended.ran.Seconds(), e.ended.length.Seconds())
}

func failures(e *evidence, limit float64) (measure.State, string) {
	good := e.record.Counts["operations"]
	return verdict(float64(e.failed) <= limit && good > 0, "%d failed operations, warm-up included, and %d good ones in the window", e.failed, good)
}

func levels(e *evidence, _ float64) (measure.State, string) {
	var unseen []string
	for _, r := range e.readBack {
		switch {
		case !r.known:
			unseen = append(unseen, r.factor)
		case r.seen != r.want:
			return verdict(false, "%s reads %q instead of %q", r.factor, r.seen, r.want)
		}
	}
	switch {
	case len(e.readBack) == 0:
		return verdict(true, "nothing is varied")
	case len(unseen) > 0:
		return unknown("the workload does not say what it saw in effect: %s", strings.Join(unseen, ", "))
	}
	return verdict(true, "every level was read back where it takes effect")
}

func warmup(e *evidence, _ float64) (measure.State, string) {
	w := e.record.Window
	return e.steady.cut, fmt.Sprintf("%.3g s of %.3g s were cut: %s", w.Cut, w.End, e.steady.why)
}

func drift(e *evidence, limit float64) (measure.State, string) {
	w, limit := e.record.Window, max(limit, e.drift)
	what := "the rate"
	if e.demand.Rate > 0 { // the gate looked at both, and kept the larger
		what = "the rate or the response time"
	}
	detail := fmt.Sprintf("%s over the window, allowed %s", trend(what, w.Drift), percent(limit))
	switch w.Steady {
	case measure.Steady:
		return measure.Pass, detail
	case measure.Drifting:
		return measure.Fail, detail
	}
	return measure.Unknown, detail + "; too noisy or too short to tell"
}

// trend says how the line through a curve changes over the window. A line that
// changes by more than its mean crosses zero: its size says nothing more.
func trend(what string, change float64) string {
	verb, size := "rises", percent(math.Abs(change))
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

func mix(e *evidence, limit float64) (measure.State, string) {
	total := float64(e.record.Counts["operations"])
	if len(e.demand.Classes) < 2 || total == 0 {
		return verdict(true, "one class of operation")
	}
	if total < float64(leastOfClass*len(e.demand.Classes)) {
		return unknown("%.0f operations of %d classes are too few to tell", total, len(e.demand.Classes))
	}
	var all, wrong []string
	for _, c := range e.demand.Classes {
		share := float64(e.record.Counts[c.Name+".operations"]) / total
		all = append(all, fmt.Sprintf("%s %s of %s", c.Name, percent(share), percent(c.Share)))
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

// Names of what the rules read.
const (
	generatorCPU = "generator.cpu" // CPUs that the load generator used for each of its threads, from the workload
	stealCounter = "cpu.steal"     // CPUs
	countCounter = "cpu.count"     // CPUs
	cpuPressure  = "pressure.cpu.some"
	throttled    = "cgroup.throttled"
	clockCounter = "clock.synchronised" // 1 or 0
)

func generator(e *evidence, limit float64) (measure.State, string) {
	used, ok := e.worker[generatorCPU]
	switch {
	case !ok && e.simulated:
		return verdict(true, "simulated operations take no CPU")
	case !ok:
		return unknown("the workload does not say how much CPU its workers used")
	case e.hosted && used > limit:
		// A guest is under test with all that runs in it.
		return unknown("the load generator used %s of one of the guest's CPUs for each of its threads: that limits the load, as part of what is measured", percent(used))
	}
	return verdict(used <= limit, "the load generator used %s of one CPU for each of its threads, allowed %s", percent(used), percent(limit))
}

// counter judges a counter that must not pass its limit, taken as a share of whole.
func counter(e *evidence, name string, whole, limit float64) (measure.State, string) {
	v, ok := e.record.Counters[name]
	switch {
	case !ok && e.simulated:
		return verdict(true, "a simulated machine has none")
	case !ok && e.seldom[name] != "":
		return unknown("%s was %s", name, e.seldom[name])
	case !ok || whole <= 0:
		return unknown("no counter %s", name)
	}
	return verdict(v/whole <= limit, "%s of the time, allowed %s", percent(v/whole), percent(limit))
}

func steal(e *evidence, limit float64) (measure.State, string) {
	return counter(e, stealCounter, e.record.Counters[countCounter], limit)
}

func pressure(e *evidence, limit float64) (measure.State, string) {
	return counter(e, cpuPressure, 1, limit)
}

func throttling(e *evidence, limit float64) (measure.State, string) {
	return counter(e, throttled, 1, limit)
}

func synchronised(e *evidence, _ float64) (measure.State, string) {
	v, ok := e.record.Counters[clockCounter]
	switch {
	case e.simulated:
		return verdict(true, "virtual time")
	case !ok && e.seldom[clockCounter] != "":
		return unknown("%s was %s", clockCounter, e.seldom[clockCounter])
	case !ok:
		return unknown("no counter %s", clockCounter)
	}
	if v < 1 {
		return unknown("the clock is not synchronised; on one machine nothing depends on it, and durations never do")
	}
	return verdict(true, "the clock is synchronised")
}

// leastLeft is what must be left on a file system, whatever its size.
const leastLeft = 1 << 30

func room(e *evidence, limit float64) (measure.State, string) {
	if len(e.disks) == 0 {
		return unknown("the space left could not be read")
	}
	tightest := slices.MinFunc(e.disks, func(a, b space) int {
		return int(math.Copysign(1, a.free/a.total-b.free/b.total))
	})
	good := true
	for _, d := range e.disks {
		good = good && d.free >= leastLeft && d.free >= (1-limit)*d.total
	}
	return verdict(good, "%.3g GiB left, %s of the file system of the %s", tightest.free/(1<<30), percent(tightest.free/tightest.total), tightest.what)
}
