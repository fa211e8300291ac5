package frequency

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
)

const (
	// leastSpeed is the use of the busiest CPU from which on its frequency matters.
	leastSpeed = 0.6
	// fullSpeed is the share of a frequency that counts as reaching it.
	fullSpeed = 0.95
	// slowSpeed is the share of the base frequency below which busy CPUs are throttled: they
	// are above it unless power or heat limit them.
	slowSpeed = 0.9
	// leastThrottledTime is the share of time in thermal throttling, leastThrottles the rate of
	// events where the kernel does not count the time.
	leastThrottledTime, leastThrottles = 0.01, 0.2
	// atPowerLimit is the share of its power limit that a package at the limit uses.
	atPowerLimit = 0.95
	// turboGain is about what turbo frequencies add on a busy server.
	turboGain = 0.15
)

// frequencyLimit finds busy CPUs that run below the frequency that they could have. Idle CPUs at
// a low frequency look alike, as do busy ones below the highest turbo frequency, which is for one
// core alone.
var frequencyLimit = diagnosis.Rule{
	Name: "frequency_limit", Area: diagnosis.CPU,
	Doc:      "a setting, heat or a power limit keeps busy CPUs below their frequency",
	Needs:    []string{"cpus"},
	Explains: []string{"cpu_saturated", "hot_thread"},
	Lacks: func(e *diagnosis.Evidence) string {
		if cpufreq(e, "cpuinfo_max_freq") == 0 && cpufreq(e, "scaling_max_freq") == 0 {
			return "no frequencies: the hypervisor or the firmware controls them"
		}
		return ""
	},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		busiest := 0.
		for _, c := range e.Mean.CPUs {
			busiest = max(busiest, c.Busy())
		}
		if busiest < leastSpeed {
			return nil
		}
		for _, check := range []func(*diagnosis.Evidence) (diagnosis.Finding, bool){throttledByHeat, cappedFrequency, slowGovernor, belowBase, withoutTurbo} {
			if f, ok := check(e); ok {
				f.Evidence = append(f.Evidence, diagnosis.Share("busiest CPU", busiest))
				return []diagnosis.Finding{f}
			}
		}
		return nil
	},
}

// cpufreq is a setting of CPU 0 in kHz, as Hz; 0 if unknown.
func cpufreq(e *diagnosis.Evidence, name string) float64 {
	khz, err := strconv.ParseFloat(e.Facts.Settings["sys/devices/system/cpu/cpu0/cpufreq/"+name], 64)
	if err != nil {
		return 0
	}
	return khz * 1e3
}

func throttledByHeat(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	if e.Mean.Power == nil {
		return diagnosis.Finding{}, false
	}
	time, events := 0., 0.
	for _, c := range e.Mean.Power.CPUs {
		time, events = max(time, c.Throttled), max(events, c.Throttles)
	}
	if time < leastThrottledTime && (time > 0 || events < leastThrottles) {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Says:       "CPUs are throttled by heat: {events} events, {time} of the time.",
		Confidence: diagnosis.Certain,
		Impact:     min(1, max(time, 0.1)),
		Evidence:   []diagnosis.Fact{diagnosis.Rate("events", events), diagnosis.Share("time", time)},
		Change:     &diagnosis.Change{Says: "improve the cooling of this host: air flow, fans, dust, thermal paste", Command: "grep . /sys/devices/system/cpu/cpu*/thermal_throttle/*_count"},
	}, true
}

func cappedFrequency(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	limit, highest := cpufreq(e, "scaling_max_freq"), cpufreq(e, "cpuinfo_max_freq")
	if limit == 0 || highest == 0 || limit >= fullSpeed*highest {
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Says:       fmt.Sprintf("The CPUs may run at %.2f GHz at most, {limit} of their highest frequency (%.2f GHz).", limit/1e9, highest/1e9),
		Confidence: diagnosis.Certain,
		Impact:     1 - limit/highest,
		Evidence:   []diagnosis.Fact{diagnosis.Share("limit", limit/highest)},
		Change: &diagnosis.Change{
			Says:    "raise the highest frequency allowed",
			Command: fmt.Sprintf("echo %.0f | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq", highest/1e3),
			Factor:  "host.governor",
		},
		Prediction: &diagnosis.Prediction{Low: 0, High: highest/limit - 1, Of: "throughput", Basis: "highest frequency / frequency allowed, for work in the caches"},
	}, true
}

// slowGovernor judges governors that keep the lowest frequency. With intel_pstate and
// amd-pstate-epp, powersave is a governor that follows the load.
func slowGovernor(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	governor := e.Facts.Settings["sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"]
	driver := e.Facts.Settings["sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"]
	preference := e.Facts.Settings["sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference"]
	follows := driver == "intel_pstate" || driver == "amd-pstate-epp"
	highest := cpufreq(e, "cpuinfo_max_freq")
	says, impact := "", turboGain
	switch lowest := cpufreq(e, "cpuinfo_min_freq"); {
	case governor == "powersave" && !follows && highest > 0:
		says = "The frequency governor powersave keeps the CPUs at their lowest frequency."
		impact = 1 - max(lowest, 0.2*highest)/highest
	case follows && preference == "power":
		says = "The energy preference of the CPUs is power: they prefer low frequencies."
	default:
		return diagnosis.Finding{}, false
	}
	return diagnosis.Finding{
		Says: says, Confidence: diagnosis.Certain, Impact: impact,
		Evidence: []diagnosis.Fact{diagnosis.Number("GHz at most", highest/1e9)},
		Change: &diagnosis.Change{
			Says: "use the governor performance", Command: "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", Factor: "host.governor", To: "performance",
		},
	}, true
}

// belowBase judges the frequency of busy CPUs.
func belowBase(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	base := cpufreq(e, "base_frequency")
	if base == 0 || e.Mean.Power == nil {
		return diagnosis.Finding{}, false
	}
	total, n := 0., 0.
	for i, c := range e.Mean.Power.CPUs {
		if i < len(e.Mean.CPUs) && e.Mean.CPUs[i].Busy() >= leastSpeed && c.Frequency > 0 {
			total, n = total+c.Frequency, n+1
		}
	}
	if n == 0 || total/n >= slowSpeed*base {
		return diagnosis.Finding{}, false
	}
	f := diagnosis.Finding{
		Says:       fmt.Sprintf("Busy CPUs run at %.2f GHz, {speed} of their base frequency (%.2f GHz): power or heat limits them.", total/n/1e9, base/1e9),
		Confidence: diagnosis.Likely,
		Impact:     1 - total/n/base,
		Evidence:   []diagnosis.Fact{diagnosis.Share("speed", total/n/base)},
		Change:     &diagnosis.Change{Says: "look at the power profile in the firmware, the power supplies and the power limit of the packages", Command: "grep . /sys/class/powercap/intel-rapl:*/constraint_*_power_limit_uw"},
	}
	for _, d := range e.Mean.Power.Domains {
		if d.Limit > 0 && d.Power >= atPowerLimit*d.Limit {
			f.Says = strings.Replace(f.Says, "power or heat limits them", fmt.Sprintf("package %s uses its power limit of %.0f W", d.Name, d.Limit), 1)
			f.Confidence = diagnosis.Certain
		}
	}
	return f, true
}

// withoutTurbo judges hosts whose turbo frequencies are off.
func withoutTurbo(e *diagnosis.Evidence) (diagnosis.Finding, bool) {
	change := &diagnosis.Change{Says: "allow turbo frequencies, unless they are off on purpose", Factor: "host.governor"}
	switch s := e.Facts.Settings; {
	case s["sys/devices/system/cpu/intel_pstate/no_turbo"] == "1":
		change.Command = "echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo"
	case s["sys/devices/system/cpu/cpufreq/boost"] == "0":
		change.Command = "echo 1 > /sys/devices/system/cpu/cpufreq/boost"
	default:
		return diagnosis.Finding{}, false
	}
	change.Factor = ""
	return diagnosis.Finding{
		Says: "Turbo frequencies are off.", Confidence: diagnosis.Possible, Impact: turboGain, Change: change,
		Prediction: &diagnosis.Prediction{Low: 0, High: 2 * turboGain, Of: "throughput", Basis: "usual turbo gains of servers"},
	}, true
}
