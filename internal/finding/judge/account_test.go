package judge

import (
	"math"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// accounted judges a world and returns the account by an identity; nil without it.
func accounted(t *testing.T, w world, identity string) *finding.Account {
	t.Helper()
	f := judged(w.build())
	sound(t, f)
	i := slices.IndexFunc(f.Accounts, func(a finding.Account) bool { return a.Identity == identity })
	if i < 0 {
		return nil
	}
	a := &f.Accounts[i]
	product := 1.0
	for _, term := range a.Terms {
		product *= term.Ratio
	}
	if math.Abs(math.Log(product/a.Whole.Ratio)) > 1e-9 {
		t.Errorf("%s: the terms give %v, the whole is %v", identity, product, a.Whole.Ratio)
	}
	return a
}

// terms checks the changes by the terms of an account, within a tolerance.
func terms(t *testing.T, a *finding.Account, want map[string]float64) {
	t.Helper()
	if a == nil {
		t.Fatal("there is no account")
	}
	for _, term := range a.Terms {
		ratio, known := want[term.Name]
		if !known && term.Name == finding.Residual {
			continue
		}
		if !known || math.Abs(math.Log(term.Ratio/ratio)) > .006 {
			t.Errorf("%s: %q is %v, want %v", a.Identity, term.Name, term.Ratio, ratio)
		}
		if !(term.Low <= term.Ratio && term.Ratio <= term.High) {
			t.Errorf("%s: %q: %v is not between %v and %v", a.Identity, term.Name, term.Ratio, term.Low, term.High)
		}
		delete(want, term.Name)
	}
	for name := range want {
		t.Errorf("%s has no term %q", a.Identity, name)
	}
}

// withCounters adds counters to each record, with noise of a share from the trial's number.
func withCounters(of func(arm int, r *measure.Record) map[string]float64) func(int, *measure.Record) {
	return func(arm int, r *measure.Record) {
		for name, v := range of(arm, r) {
			i := float64(len(name)*7 + r.Trial*5)
			r.Counters[name] = v * (1 + .004*math.Sin(i))
		}
	}
}

func TestAccounts(t *testing.T) {
	pick := func(arm int, base, other float64) float64 { return []float64{base, other}[arm] }
	w := world{seed: 5, blocks: 8, arms: []float64{1, 1.1}, cv: .01, demand: sameDemand}

	t.Run("closed loop", func(t *testing.T) {
		terms(t, accounted(t, w, "closed_loop"), map[string]float64{"operations in flight": 1, "response time": 1.1})
	})
	t.Run("closed loop with think time", func(t *testing.T) {
		v := w
		v.demand = func(int) load.Demand {
			return load.Demand{Concurrency: 8, Think: 300e3, Classes: []load.Class{{Name: "write", Share: 1, Bytes: 4096}}}
		}
		v.values = func(_ int, r *measure.Record) { r.Values["mean"] -= 300e-6 }
		terms(t, accounted(t, v, "closed_loop"), map[string]float64{"operations in flight": 1, "response time": 1.1, "think time": 1})
	})
	t.Run("saturated", func(t *testing.T) {
		v := w
		v.values = withCounters(func(arm int, r *measure.Record) map[string]float64 {
			return map[string]float64{
				"cpu.count": 4, "cpu.user": 2.9, "cpu.softirq": .1, "cpu.irq": 0,
				"cpu.system": .9, "disk.queue": 1,
			}
		})
		a := accounted(t, v, "saturated_throughput")
		terms(t, a, map[string]float64{
			"CPU available": 1, "share of it used": 1,
			"user CPU per operation":      math.Pow(1.1, 2.9/3.9),
			"system CPU per operation":    math.Pow(1.1, .9/3.9),
			"interrupt CPU per operation": math.Pow(1.1, .1/3.9),
		})
		golden(t, "rule/accounting.txt", a.Sentence.Text+"\n")
		e, f := said(t, v, "accounting")
		if len(e) != 1 || e[0].Grade != finding.AccountsFor || !strings.Contains(e[0].Sentence.Text, "Lower user CPU per operation covers") {
			t.Errorf("%+v", e)
		}
		// With all CPUs in use, CPU time per operation is the rate by another name.
		if i := slices.IndexFunc(f.Moved, func(m finding.Moved) bool { return m.Metric == "cpu.busy/op" }); i < 0 || !f.Moved[i].Effect {
			t.Errorf("%+v", f.Moved)
		}
	})
	t.Run("saturated beside a neighbour", func(t *testing.T) {
		v := w
		v.values = withCounters(func(arm int, r *measure.Record) map[string]float64 {
			others := pick(arm, 1.2, .9)
			return map[string]float64{
				"cpu.count": 4, "cpu.user": 3.2, "cpu.softirq": .1, "cpu.irq": .1, "cpu.system": .5,
				"processes.others.cpu": others, "processes.generator.cpu": .7, "processes.service.cpu": 3.2 - others - .7,
			}
		})
		a := accounted(t, v, "saturated_throughput")
		if a == nil || a.Terms[0].Name != "CPU left by other programs" || math.Abs(a.Terms[0].Ratio-3.1/2.8) > .01 {
			t.Fatalf("%+v", a)
		}
	})
	t.Run("idle host", func(t *testing.T) {
		v := w
		v.values = withCounters(func(arm int, _ *measure.Record) map[string]float64 {
			return map[string]float64{"cpu.count": 64, "cpu.user": 2, "cpu.system": 1, "cpu.softirq": .1, "cpu.irq": .1}
		})
		if a := accounted(t, v, "saturated_throughput"); a != nil {
			t.Errorf("a host that is not saturated: %s", a.Sentence.Text)
		}
	})
	t.Run("cycles", func(t *testing.T) {
		v := cpio(w)
		a := accounted(t, v, "cycles_per_operation")
		terms(t, a, map[string]float64{"path length": 1.041, "CPI": 1.017})
		golden(t, "rule/accounting_cycles.txt", a.Sentence.Text+"\n")
		if !a.Terms[0].Covers || a.Terms[1].Covers {
			t.Errorf("%+v", a.Terms)
		}
	})
	t.Run("write amplification", func(t *testing.T) {
		v := w
		v.values = func(arm int, r *measure.Record) {
			r.Values["write.throughput"] = 4096 * r.Values["iops"]
			r.Counters["disk.write.bytes"] = r.Values["write.throughput"] * pick(arm, 1.5, 2) * (1 + .01*float64((r.Block+arm)%2))
		}
		terms(t, accounted(t, v, "write_amplification"), map[string]float64{"bytes written by the load": 1, "write amplification": 2 / 1.5})
	})
	t.Run("response time", func(t *testing.T) {
		v := w
		v.study = func(s *study.Study) { s.Headline = []string{"iops", "mean"} }
		v.values = func(arm int, r *measure.Record) {
			r.Counters["disk.queue"] = 2 * (1 + .01*float64((r.Block+arm)%2)) // of 8 in flight
		}
		// The time of an operation falls from 8/10000 to 8/11000 s, a quarter of it in the device.
		terms(t, accounted(t, v, "response_time"), map[string]float64{
			"in the block device": math.Pow(1.1, -.2525), "outside the block device": math.Pow(1.1, -.7475),
		})
	})
	t.Run("processes", func(t *testing.T) {
		v := w
		v.values = withCounters(func(arm int, r *measure.Record) map[string]float64 {
			return map[string]float64{
				"cpu.user": 1.2 * pick(arm, 1, 1.4), "cpu.system": .4, "cpu.irq": .1, "cpu.softirq": .1, "cpu.count": 4,
				"processes.service.cpu": pick(arm, 1, 1.48), "processes.others.cpu": .1,
			}
		})
		a := accounted(t, v, "cpu_by_process")
		if a == nil || len(a.Terms) != 3 || a.Terms[0].Name != "CPU of the service per operation" || !a.Terms[0].Covers || a.Terms[1].Covers || a.Terms[2].Covers {
			t.Fatalf("%+v", a)
		}
	})
}

// cpio counts cycles and instructions: +4.1 % path length and +1.7 % CPI make +5.9 % cycles per
// operation.
func cpio(w world) world {
	w.values = withCounters(func(arm int, r *measure.Record) map[string]float64 {
		path, cpi := []float64{1, 1.041}[arm], []float64{1, 1.017}[arm]
		instructions := r.Values["iops"] * 100e3 * path
		return map[string]float64{"cpu.instructions": instructions, "cpu.cycles": instructions * 1.5 * cpi}
	})
	return w
}

// Without a decided effect nothing is accounted for.
func TestNoAccountWithoutAnEffect(t *testing.T) {
	v := cpio(world{seed: 5, blocks: 8, arms: []float64{1, 1}, cv: .02, demand: sameDemand})
	f := judged(v.build())
	if len(f.Accounts) > 0 || len(f.Moved) > 0 || len(f.Explanations) > 0 {
		t.Errorf("%+v %+v %+v", f.Accounts, f.Moved, f.Explanations)
	}
}
