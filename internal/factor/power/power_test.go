package power

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/platform"
)

// fake is a machine made of files.
type fake struct {
	files map[string]string
	lies  bool // writes are accepted and ignored
}

func (f *fake) Name() string { return "recorded" }

func (f *fake) ReadFile(_ context.Context, name string) ([]byte, error) {
	text, ok := f.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text), nil
}

func (f *fake) WriteFile(_ context.Context, name string, data []byte) error {
	if _, ok := f.files[name]; !ok {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if !f.lies {
		f.files[name] = string(data) + "\n"
	}
	return nil
}

// Run lists folders.
func (f *fake) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	var names []string
	for name := range f.files {
		if rest, found := strings.CutPrefix(name, c.Argv[len(c.Argv)-1]+"/"); found {
			names = append(names, strings.Split(rest, "/")[0])
		}
	}
	return platform.Result{Stdout: []byte(strings.Join(names, "\n"))}, nil
}

// processors is a machine with some CPUs, whose files are as recorded.
func processors(cpus int, perCPU map[string]string) *fake {
	f := &fake{files: map[string]string{"/sys/devices/system/cpu/online": fmt.Sprintf("0-%d\n", cpus-1)}}
	for cpu := range cpus {
		for name, text := range perCPU {
			f.files[fmt.Sprintf("/sys/devices/system/cpu/cpu%d/%s", cpu, name)] = text + "\n"
		}
	}
	return f
}

// intel is as with intel_pstate in active mode and intel_idle, on a server of two sockets.
func intel() *fake {
	return processors(4, map[string]string{
		"cpufreq/scaling_driver": "intel_pstate", "cpufreq/scaling_governor": "powersave", "cpufreq/scaling_available_governors": "performance powersave",
		"cpufreq/energy_performance_available_preferences": "default performance balance_performance balance_power power", "cpufreq/energy_performance_preference": "balance_performance",
		"power/energy_perf_bias": "6",
		"cpuidle/state0/name":    "POLL", "cpuidle/state0/latency": "0", "cpuidle/state0/disable": "0", "cpuidle/state0/default_status": "enabled",
		"cpuidle/state1/name": "C1", "cpuidle/state1/latency": "2", "cpuidle/state1/disable": "0", "cpuidle/state1/default_status": "enabled",
		"cpuidle/state2/name": "C1E", "cpuidle/state2/latency": "10", "cpuidle/state2/disable": "0", "cpuidle/state2/default_status": "enabled",
		"cpuidle/state3/name": "C6", "cpuidle/state3/latency": "133", "cpuidle/state3/disable": "0", "cpuidle/state3/default_status": "enabled",
	})
}

// amd is as with amd_pstate in active mode and acpi_idle, of a kernel before 5.6.
func amd() *fake {
	return processors(2, map[string]string{
		"cpufreq/scaling_driver": "amd-pstate-epp", "cpufreq/scaling_governor": "powersave", "cpufreq/scaling_available_governors": "performance powersave",
		"cpufreq/energy_performance_available_preferences": "default performance balance_performance balance_power power", "cpufreq/energy_performance_preference": "power",
		"cpuidle/state0/name": "POLL", "cpuidle/state0/latency": "0", "cpuidle/state0/disable": "0",
		"cpuidle/state1/name": "C1", "cpuidle/state1/latency": "1", "cpuidle/state1/disable": "0",
		"cpuidle/state2/name": "C2", "cpuidle/state2/latency": "18", "cpuidle/state2/disable": "0",
		"cpuidle/state3/name": "C3", "cpuidle/state3/latency": "350", "cpuidle/state3/disable": "0",
	})
}

// hybrid has fast CPUs 0 and 1, and slow ones with other idle states, of which the kernel disables one.
func hybrid() *fake {
	f := intel()
	for cpu := 2; cpu < 4; cpu++ {
		at := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/", cpu)
		f.files[at+"state2/latency"], f.files[at+"state3/latency"] = "60\n", "280\n"
		f.files[at+"state1/disable"], f.files[at+"state1/default_status"] = "1\n", "disabled\n"
	}
	return f
}

// vm is a machine with CPUs and nothing to set.
func vm() *fake { return processors(2, map[string]string{"topology/core_id": "0"}) }

// disabled lists the disabled idle states as CPU/state, in order.
func disabled(f *fake) (all []string) {
	for cpu := range 4 {
		for n := range 4 {
			if f.files[fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state%d/disable", cpu, n)] == "1\n" {
				all = append(all, fmt.Sprintf("%d/%d", cpu, n))
			}
		}
	}
	return all
}

func TestPowerProfileIsReadBackAndPutBack(t *testing.T) {
	for name, test := range map[string]struct {
		factor factor.Factor
		of     *fake
		levels map[string]string // with their canonical form
	}{
		"governor":         {governor(), intel(), map[string]string{"performance": "performance", "powersave": "powersave"}},
		"intel preference": {energyPreference(), intel(), map[string]string{"performance": "performance", "balance_power": "balance_power", "power": "power"}},
		"amd preference":   {energyPreference(), amd(), map[string]string{"performance": "performance", "balance_performance": "balance_performance"}},
		"intel idle":       {idleLimit(), intel(), map[string]string{"none": "none", "0s": "0s", "9us": "2µs", "10us": "10µs", "132µs": "10µs", "133us": "none", "1s": "none"}},
		"amd idle":         {idleLimit(), amd(), map[string]string{"none": "none", "0s": "0s", "1us": "1µs", "100us": "18µs", "350us": "none"}},
		"hybrid idle":      {idleLimit(), hybrid(), map[string]string{"none": "none", "0s": "0s", "2us": "2µs", "20us": "10µs", "200us": "133µs", "280us": "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := factor.Env{Machine: test.of}
			found := maps.Clone(test.of.files)
			former, err := test.factor.Get(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			for level, want := range test.levels {
				canonical, err := test.factor.Accept(t.Context(), p, level)
				if err != nil || canonical != want {
					t.Errorf("accept %s: %q, %v, want %q", level, canonical, err, want)
				}
				if err := test.factor.Set(t.Context(), p, level); err != nil {
					t.Fatal(err)
				}
				if got, err := test.factor.Get(t.Context(), p); err != nil || got != want {
					t.Errorf("set %s: read back %q, %v, want %q", level, got, err, want)
				}
			}
			if err := test.factor.RestoreLevel(t.Context(), p, former); err != nil || !maps.Equal(test.of.files, found) {
				t.Errorf("restored %q: %v; was\n%v, is\n%v", former, err, found, test.of.files)
			}
		})
	}
}

func TestIdleLimitDisablesDeepStatesOnAllCPUs(t *testing.T) {
	for _, test := range []struct {
		of          *fake
		level, want string
	}{
		{intel(), "10us", "[0/3 1/3 2/3 3/3]"},
		{intel(), "0s", "[0/1 0/2 0/3 1/1 1/2 1/3 2/1 2/2 2/3 3/1 3/2 3/3]"},
		{hybrid(), "100us", "[0/3 1/3 2/1 2/3 3/1 3/3]"},
		{hybrid(), "none", "[2/1 3/1]"},
		{amd(), "18us", "[0/3 1/3]"},
	} {
		if err := idleLimit().Set(t.Context(), factor.Env{Machine: test.of}, test.level); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(disabled(test.of)); got != test.want {
			t.Errorf("%s: disabled are %s, want %s", test.level, got, test.want)
		}
	}
}

// States and preferences that differed before the study, in ways that no level describes, come back as they were.
func TestPowerProfileThatDiffered(t *testing.T) {
	const at = "/sys/devices/system/cpu/cpu"
	for name, test := range map[string]struct {
		factor        factor.Factor
		of            *fake
		change        map[string]string
		former, level string
	}{
		"one state on one CPU": {idleLimit(), intel(), map[string]string{at + "1/cpuidle/state2/disable": "1\n"}, "0,2-3=on 1=off:2", "10us"},
		"states with a gap": {idleLimit(), amd(), map[string]string{
			at + "0/cpuidle/state1/disable": "1\n", at + "0/cpuidle/state3/disable": "1\n", at + "1/cpuidle/state1/disable": "1\n", at + "1/cpuidle/state3/disable": "1\n",
		}, "off:1,3", "0s"},
		"a state that the kernel disables": {idleLimit(), hybrid(), map[string]string{at + "2/cpuidle/state1/disable": "0\n", at + "3/cpuidle/state1/disable": "0\n"}, "on", "none"},
		"governors":                        {governor(), intel(), map[string]string{at + "3/cpufreq/scaling_governor": "performance\n"}, "0-2=powersave 3=performance", "performance"},
		"preferences":                      {energyPreference(), intel(), map[string]string{at + "3/cpufreq/energy_performance_preference": "128\n"}, "0-2=balance_performance 3=128", "power"},
	} {
		t.Run(name, func(t *testing.T) {
			maps.Copy(test.of.files, test.change)
			found, p := maps.Clone(test.of.files), factor.Env{Machine: test.of}
			former, err := test.factor.Get(t.Context(), p)
			if err != nil || former != test.former {
				t.Fatalf("former level %q, %v, want %q", former, err, test.former)
			}
			if err := test.factor.Set(t.Context(), p, test.level); err != nil || maps.Equal(found, test.of.files) {
				t.Fatalf("nothing was set: %v", err)
			}
			if err := test.factor.RestoreLevel(t.Context(), p, former); err != nil || !maps.Equal(found, test.of.files) {
				t.Errorf("%v: was\n%v, is\n%v", err, found, test.of.files)
			}
		})
	}
}

// CPUs that went offline meanwhile are left out.
func TestIdleLimitOfOfflineCPUs(t *testing.T) {
	m := intel()
	m.files["/sys/devices/system/cpu/online"] = "0,2\n"
	if err := idleLimit().RestoreLevel(t.Context(), factor.Env{Machine: m}, "0-1=off:3 2-3=off:2"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(disabled(m)); got != "[0/3 2/2]" {
		t.Errorf("disabled are %s", got)
	}
}

func TestPowerProfileRefuses(t *testing.T) {
	busy, stateless := intel(), intel()
	busy.files["/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"] = "performance\n"
	for cpu := range 4 {
		stateless.files[fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state0/latency", cpu)] = "1\n"
	}
	for _, test := range []struct {
		factor      factor.Factor
		of          *fake
		level, want string
	}{
		{energyPreference(), intel(), "fast", "available are performance, balance_performance, balance_power, power"},
		{energyPreference(), intel(), "default", `does not support "default"`},
		{energyPreference(), busy, "power", "the governor of CPU 2 on recorded is performance, which accepts no other energy preference"},
		{energyPreference(), vm(), "power", "boot the host with intel_pstate=active or amd_pstate=active"},
		{governor(), intel(), "schedutil", "available are performance, powersave"},
		{governor(), vm(), "powersave", "a VM has none, so run the study on its host"},
		{idleLimit(), vm(), "10us", "most VMs have none: run the study on the host"},
		{idleLimit(), intel(), "fast", "is neither none nor an exit latency"},
		{idleLimit(), intel(), "1500ns", "is neither none nor an exit latency"},
		{idleLimit(), intel(), "-1us", "is neither none nor an exit latency"},
		{idleLimit(), stateless, "0s", "CPU 0 has no idle state that it leaves within 0s; the fastest takes 1µs"},
	} {
		got, err := test.factor.Accept(t.Context(), factor.Env{Machine: test.of}, test.level)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %q: got %q, %v, want %q", test.factor.Name, test.level, got, err, test.want)
		}
	}
	if got, err := energyPreference().Accept(t.Context(), factor.Env{Machine: busy}, "performance"); err != nil || got != "performance" {
		t.Errorf("governor performance refuses preference performance: %q, %v", got, err)
	}
}

// What a host lacks is told by each function, and before anything is set.
func TestPowerProfileOfAVM(t *testing.T) {
	for _, f := range []factor.Factor{governor(), energyPreference(), idleLimit()} {
		m := vm()
		before := maps.Clone(m.files)
		_, got := f.Get(t.Context(), factor.Env{Machine: m})
		_, offers := f.Offers(t.Context(), factor.Env{Machine: m})
		set := f.Set(t.Context(), factor.Env{Machine: m}, f.Example[0])
		for _, err := range []error{got, offers} {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("%s: %v", f.Name, err)
			}
		}
		if set == nil || !maps.Equal(before, m.files) {
			t.Errorf("%s: set on a machine without it: %v", f.Name, set)
		}
	}
}

func TestALieIsSeen(t *testing.T) {
	for level, f := range map[string]factor.Factor{"performance": governor(), "power": energyPreference(), "10us": idleLimit()} {
		m := intel()
		m.lies = true
		if err := f.Set(t.Context(), factor.Env{Machine: m}, level); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Get(t.Context(), factor.Env{Machine: m}); err != nil || got == level || got == "10µs" {
			t.Errorf("%s reads back %q, %v, though nothing was set", f.Name, got, err)
		}
	}
}

func TestEveryFactorIsDescribed(t *testing.T) {
	for _, f := range Factors() {
		if f.Name == "" || f.Doc == "" || len(f.Example) != 2 || f.Get == nil || f.Set == nil || f.Effect == nil || !f.Root {
			t.Errorf("%s lacks something: %+v", f.Name, f)
		}
	}
}

// rejecting is a machine whose kernel is busy for every write.
type rejecting struct{ *fake }

func (r rejecting) WriteFile(context.Context, string, []byte) error { return syscall.EBUSY }

func TestPreferenceThatTheGovernorRejects(t *testing.T) {
	err := energyPreference().Set(t.Context(), factor.Env{Machine: rejecting{intel()}}, "power")
	if err == nil || !strings.Contains(err.Error(), "set the governor powersave first") {
		t.Errorf("got %v", err)
	}
}

// The energy bias is restored with the preference, and two factors that share a setting are told apart by their files.
func TestEffectOfPowerProfile(t *testing.T) {
	p := factor.Env{Machine: intel()}
	e, err := energyPreference().EffectAt(t.Context(), p)
	if err != nil || len(e.Sets) != 4 || len(e.Coupled) != 4 || e.Coupled[3] != "/sys/devices/system/cpu/cpu3/power/energy_perf_bias" {
		t.Errorf("preference: %+v, %v", e, err)
	}
	if e, err = idleLimit().EffectAt(t.Context(), p); err != nil || len(e.Sets) != 16 || len(e.Coupled) != 0 || e.Sets[5] != "/sys/devices/system/cpu/cpu1/cpuidle/state1/disable" {
		t.Errorf("idle: %+v, %v", e, err)
	}
}

// A level that Get returned is restored, or refused without a write.
func FuzzIdleLevel(f *testing.F) {
	for _, seed := range []string{"none", "10us", "off:1,3", "on", "0-1=off:2-3 2-3=on", "0=off:", "=", "off:x", "0-9=on", "1=none"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, level string) {
		m := hybrid()
		before := maps.Clone(m.files)
		var p platform.Machine = m
		if err := idleLimit().Set(t.Context(), factor.Env{Machine: p}, level); err != nil {
			if !maps.Equal(before, m.files) {
				t.Errorf("%q was refused (%v) after a write", level, err)
			}
			return
		}
		got, err := idleLimit().Get(t.Context(), factor.Env{Machine: p})
		if err != nil {
			t.Fatal(err)
		}
		set := maps.Clone(m.files)
		if err := idleLimit().Set(t.Context(), factor.Env{Machine: p}, got); err != nil || !maps.Equal(set, m.files) {
			t.Errorf("%q reads back %q, which sets another state: %v", level, got, err)
		}
	})
}
