package coresched

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Policy{"": Default, "default": Default, "one-thread-per-core": OneThread, "one-guest-per-core": OneGuest} {
		if p, err := Parse(text); p != want || err != nil {
			t.Errorf("%q: %q, %v", text, p, err)
		}
	}
	for _, text := range []string{"scav2", "Default", " "} {
		if p, err := Parse(text); err == nil || !strings.Contains(err.Error(), "must be default, one-thread-per-core or one-guest-per-core") {
			t.Errorf("%q: %q, %v", text, p, err)
		}
	}
}

func TestPossible(t *testing.T) {
	pairs := []platform.CPUs{{0, 2}, {1, 3}}
	singles := []platform.CPUs{{0}, {1}}
	for _, c := range []struct {
		name   string
		p      Policy
		h      Host
		reason string
	}{
		{"default anywhere", Default, Host{Cores: singles, Missing: errNoKernel}, ""},
		{"one thread without core scheduling", OneThread, Host{Cores: pairs, SMT: true, Missing: errNoKernel}, ""},
		{"one thread without SMT", OneThread, Host{Cores: singles, Missing: errNoKernel}, "per-core: cores of this host have one thread: enable SMT in the firmware"},
		{"one thread with a part of the CPUs", OneThread, Host{Cores: singles, SMT: true}, "start it without taskset"},
		{"one guest", OneGuest, Host{Cores: pairs, SMT: true}, ""},
		{"one guest without core scheduling", OneGuest, Host{Cores: pairs, SMT: true, Missing: errNoKernel}, "CONFIG_SCHED_CORE, as the generic kernels of Ubuntu have it"},
		{"one guest without SMT", OneGuest, Host{Cores: singles, Missing: errNoThreads}, "per-core: cores of this host have one thread: enable SMT"},
		{"one guest without both", OneGuest, Host{Cores: singles, Missing: errNoKernel}, "linux-image-generic); and cores of this host have one thread: enable SMT"},
		{"one guest with a part of the CPUs", OneGuest, Host{Cores: singles, SMT: true}, "start it without taskset"},
		{"one guest of a lab with a cookie", OneGuest, Host{Cores: pairs, SMT: true, Own: 7}, "start it without coresched"},
	} {
		err := c.p.Possible(c.h)
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), string(c.p))) {
			t.Errorf("%s: %v, want %q", c.name, err, c.reason)
		}
	}
}

func TestMissing(t *testing.T) {
	for err, want := range map[error]string{unix.EINVAL: "CONFIG_SCHED_CORE", unix.ENODEV: "one thread", unix.EPERM: "a sandbox, refuses"} {
		if got := missing(err); got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := missing(nil); err != nil {
		t.Error(err)
	}
}

func TestCores(t *testing.T) {
	all := []view.CPU{{ID: 0}, {ID: 1, Core: 1}, {ID: 2}, {ID: 3, Core: 1}, {ID: 4, Socket: 1}, {ID: 5, Socket: 1}}
	h := Host{Cores: cores(all, func(c int) bool { return c != 0 })}
	if want := []platform.CPUs{{1, 3}, {2}, {4, 5}}; !slices.EqualFunc(h.Cores, want, slices.Equal) {
		t.Errorf("%v, want %v", h.Cores, want)
	}
	if got := h.FirstThreads().String(); got != "1-2,4" {
		t.Errorf("first threads %s", got)
	}
}

func TestPolicyOfAState(t *testing.T) {
	h := Host{Cores: []platform.CPUs{{0, 2}, {1, 3}}}
	for _, c := range []struct {
		name  string
		s     State
		want  Policy
		wrong string
	}{
		{"nothing", State{Cookies: []uint64{0}, CPUs: []string{"0-3"}}, Default, ""},
		{"pinned vCPUs", State{Cookies: []uint64{0}, CPUs: []string{"0-3", "0"}}, Default, ""},
		{"first threads", State{Cookies: []uint64{0}, CPUs: []string{"0-1"}}, OneThread, ""},
		{"some of them on first threads", State{Cookies: []uint64{0}, CPUs: []string{"0-1", "0-3"}}, Default, ""},
		{"a cookie", State{Cookies: []uint64{9}, CPUs: []string{"0-3", "1"}}, OneGuest, ""},
		{"a thread without it", State{Cookies: []uint64{0, 9}, CPUs: []string{"0-3"}}, "", "2 cookies"},
		{"a cookie of two guests", State{Cookies: []uint64{9}, Sharers: []int{77}}, "", "process 77 has the same cookie"},
	} {
		got, err := c.s.Policy(h)
		if got != c.want || c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

// What this host lacks is refused with a remedy; what it has takes effect on a process, and is read back.
func TestOnThisHost(t *testing.T) {
	h, err := ThisHost()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cores %v, core scheduling: %v", h.Cores, h.Missing)
	for _, p := range Policies() {
		child := exec.Command(os.Args[0], "-test.run=TestChild")
		child.Env = append(os.Environ(), "CORESCHED_CHILD=1")
		in, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()   //nolint:errcheck // it ends with it
			child.Wait() //nolint:errcheck // it ends in any way
		})
		if err := p.Possible(h); err != nil {
			if p == Default {
				t.Errorf("default: %v", err)
			}
			for _, remedy := range []string{"boot one with CONFIG_SCHED_CORE", "enable SMT", "start it without"} {
				if strings.Contains(err.Error(), remedy) {
					err = nil
					break
				}
			}
			if err != nil {
				t.Errorf("%s: %v does not say what to do", p, err)
			}
			if p == OneGuest {
				if err := p.Apply(child.Process.Pid); h.Missing != nil && !errors.Is(err, h.Missing) {
					t.Errorf("%s on a host without it: %v", p, err)
				}
			}
			continue
		}
		if err := p.Apply(child.Process.Pid); err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		s, err := Read(child.Process.Pid)
		if err != nil {
			t.Errorf("%s: %v", p, err)
			continue
		}
		if got, err := s.Policy(h); got != p || err != nil {
			t.Errorf("%s reads back as %q, %v: %+v", p, got, err, s)
		}
	}
}

// TestChild is the process that policies are applied to: it waits until its input ends.
func TestChild(t *testing.T) {
	if os.Getenv("CORESCHED_CHILD") == "" {
		t.Skip("for TestOnThisHost")
	}
	os.Stdin.Read(make([]byte, 1)) //nolint:errcheck // its end is what it waits for
}

func TestAProcessThatHasEnded(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(child.Process.Pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
	if err := confine(child.Process.Pid, platform.CPUs{0}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("confine: %v", err)
	}
}

func TestForcedIdle(t *testing.T) {
	const good = "usage_usec 10\nuser_usec 6\nsystem_usec 4\ncore_sched.force_idle_usec 1500\n"
	if d, err := forcedIdle("cpu.stat", good); d != 1500*time.Microsecond || err != nil {
		t.Errorf("%v, %v", d, err)
	}
	for text, want := range map[string]string{
		"usage_usec 10\n":                   "CONFIG_SCHED_CORE",
		"core_sched.force_idle_usec -1\n":   "not a number of microseconds",
		"core_sched.force_idle_usec many\n": "not a number of microseconds",
		"core_sched.force_idle_usec 9e18\n": "not a number of microseconds",
		"":                                  "has no core_sched.force_idle_usec",
	} {
		if _, err := forcedIdle("cpu.stat", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzForcedIdle(f *testing.F) {
	f.Add("core_sched.force_idle_usec 1500\n")
	f.Add("core_sched.force_idle_usec 9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := forcedIdle("cpu.stat", text); err == nil && d < 0 {
			t.Errorf("%q is %v", text, d)
		}
	})
}

func TestForcedOfAThread(t *testing.T) {
	const text = "spinner (77, #threads: 3)\n---\nse.exec_start                                :         17431.404201\n" +
		"core_forceidle_sum                           :           812.500000\nnr_switches                                  :                   12\n"
	if d, found := forcedOf(text); d != 812500*time.Microsecond || !found {
		t.Errorf("%v, %v", d, found)
	}
	for _, text := range []string{"", "nr_switches : 3\n", "core_forceidle_sum : many\n", "core_forceidle_sum : -1.000000\n", "core_forceidle_sum"} {
		if d, found := forcedOf(text); found {
			t.Errorf("%q is %v", text, d)
		}
	}
}

func FuzzForcedOf(f *testing.F) {
	f.Add("core_forceidle_sum : 1.500000\n")
	f.Fuzz(func(t *testing.T, text string) {
		if d, found := forcedOf(text); found && d < 0 {
			t.Errorf("%q is %v", text, d)
		}
	})
}

func TestStateAsText(t *testing.T) {
	for want, s := range map[string]State{
		"no cookie; CPUs 0-1":         {Cookies: []uint64{0}, CPUs: []string{"0-1"}},
		"cookie 5f3c; CPUs 0-3 and 2": {Cookies: []uint64{0x5f3c}, CPUs: []string{"0-3", "2"}},
		"no cookie, cookie a; CPUs 0": {Cookies: []uint64{0, 10}, CPUs: []string{"0"}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
