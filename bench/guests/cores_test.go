package guests

import (
	"strings"
	"testing"

	"plimsoll/internal/guest/coresched"
)

const spunRows = `{"Policy":"default","Turn":0,"Load":100,"Work":1000,"Busy":400,"Foreign":300}
{"Policy":"one-thread-per-core","Turn":0,"Load":100,"Work":700}
{"Policy":"one-guest-per-core","Turn":0,"Load":100,"ForcedIdle":0.5,"ByGroups":0.25,"Cookies":4,"Work":900,"Busy":200,"Foreign":2}
{"Policy":"default","Turn":0,"Load":50,"Work":500,"Due":10,"Finished":10,"Response":1,"Busy":100,"Foreign":80}
{"Policy":"one-thread-per-core","Turn":0,"Load":50,"Work":500,"Due":10,"Finished":10,"Response":2}
{"Policy":"one-guest-per-core","Turn":0,"Load":50,"ForcedIdle":1,"ByGroups":1,"Cookies":4,"Work":450,"Due":10,"Finished":9,"Response":3.6,"Busy":50,"Foreign":0}
`

// Policies are compared with the default one in the same turn: work, and below saturation the mean time of a portion.
func TestPoliciesAreCompared(t *testing.T) {
	rows, err := spun([]byte(spunRows))
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Cores{below: 50}.results(rows)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, l := range lines {
		got[l.What] = l.Got
	}
	for what, want := range map[string]float64{
		"default at 100 %: 400 samples of a thread at work beside another one: of another group":            75,
		"one-guest-per-core at 100 %: 200 samples of a thread at work beside another one: of another group": 1,
		"one-thread-per-core at 100 %: work, median of turns":                                               0.7,
		"one-guest-per-core at 100 %: work, median of turns":                                                0.9,
		"one-guest-per-core at 100 %: forced idle, median of turns":                                         0.5,
		"one-guest-per-core at 100 %: different cookies":                                                    4,
		"one-thread-per-core at 50 %: mean time until a portion of work is done, median of turns":           2,
		"one-guest-per-core at 50 %: mean time until a portion of work is done, median of turns":            4,
	} {
		if v, there := got[what]; !there || v != want {
			t.Errorf("%s: %v, want %v (of %d lines)", what, v, want, len(lines))
		}
	}
	rows[0].Busy = 0
	if _, err := (Cores{below: 50}).results(rows); err == nil || !strings.Contains(err.Error(), "never worked at the same time") {
		t.Errorf("without samples: %v", err)
	}
	for text, want := range map[string]string{"": "printed nothing", "{": "output of the load", `{"Policy": 3}`: "output of the load"} {
		if _, err := spun([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Where the host lacks core scheduling, the benchmark says how a guest gets a kernel with it.
func TestCoresOfThisHost(t *testing.T) {
	h, err := coresched.ThisHost()
	if err != nil || coresched.OneGuest.Possible(h) == nil {
		t.Skip("this host has core scheduling")
	}
	if _, err := (Cores{}).here("/nowhere", nil); err == nil || !strings.Contains(err.Error(), "CONFIG_SCHED_CORE") && !strings.Contains(err.Error(), "SMT") || !strings.Contains(err.Error(), "--kernel") {
		t.Error(err)
	}
	for _, args := range [][]string{{"--below", "100"}, {"--turns", "0"}, {"--window", "10ms"}, {"more"}} {
		if _, err := NewCores(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
