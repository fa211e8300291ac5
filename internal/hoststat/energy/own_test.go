package energy

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func unit(t testing.TB, name string) Unit {
	t.Helper()
	u, known := UnitOf(name)
	if !known {
		t.Fatalf("no unit %q", name)
	}
	return u
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, unit string
		want       float64
	}{
		{"213\n", "W", 213}, {" 213.5 W\n", "W", 213.5}, {"0", "W", 0}, {"2.1e2", "", 210}, {"213500000\n", "uW", 213.5}, {"1500", "mW", 1.5},
		{"52425314871\n", "uJ", 52425.314871}, {"12.5", "J", 12.5}, {"2", "Wh", 7200}, {"0.5 kWh", "kWh", 1.8e6}, {"5e9", "J", 5e9},
	} {
		if got, err := parse(c.text, unit(t, c.unit)); err != nil || math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%q in %s: %g, %v, want %g", c.text, c.unit, got, err, c.want)
		}
	}
	for _, c := range []struct{ text, unit, want string }{
		{"", "W", "expected one number in W, got \"\""},
		{"Instantaneous power reading: 213 Watts", "W", "expected one number in W"},
		{"213 J", "W", "expected one number in W, got \"213 J\""},
		{"213 214", "W", "expected one number"},
		{"n/a", "W", "expected a number in W, got \"n/a\""},
		{"NaN", "W", "expected a number"},
		{"inf", "J", "expected a number"},
		{"1e999", "J", "expected a number"},
		{"1e308", "kWh", "expected a number"},
		{"-3", "W", "-3 W is below 0"},
		{"-3", "J", "-3 J is below 0"},
		{"213500000", "W", "213500000 W is more than any host takes: set measure.energy.unit"},
		{strings.Repeat("x", 100), "W", strings.Repeat("x", 60) + "..."},
	} {
		if got, err := parse(c.text, unit(t, c.unit)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %s: %g, %v, want %q", c.text, c.unit, got, err, c.want)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, seed := range []string{"213", "213.5 W", "", "NaN", "-1", "1e999", "0x1p-2", "1_000", " 5\t\n"} {
		f.Add(seed, uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		u := units()[int(which)%len(units())]
		n, err := parse(text, u)
		if err == nil && !(n >= 0 && !math.IsInf(n, 0)) {
			t.Errorf("%q in %s is %g", text, u.Name, n)
		}
		if err != nil && n != 0 {
			t.Errorf("%q in %s is %g and an error: %v", text, u.Name, n, err)
		}
	})
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOwnFile(t *testing.T) {
	dir := t.TempDir()
	watts, joules := filepath.Join(dir, "hwmon3.power"), filepath.Join(dir, "joules")
	write(t, watts, "213500000\n")
	write(t, joules, "77\n")
	for _, own := range []Own{{File: watts, Unit: unit(t, "uW"), Every: time.Second}, {File: filepath.Join(dir, "hwmon*.power"), Unit: unit(t, "uW"), Every: time.Second}} {
		s := own.Source()
		if got, err := s.Read(t.Context()); err != nil || got.Watts != 213.5 || got.Counters != nil || s.Every != time.Second {
			t.Errorf("%s: %+v, %v", own.File, got, err)
		}
	}
	s := Own{File: joules, Unit: unit(t, "J"), Covers: "the rack"}.Source()
	if got, err := s.Read(t.Context()); err != nil || len(got.Counters) != 1 || got.Counters[0] != (Counter{Name: joules, Joules: 77}) {
		t.Errorf("%+v, %v", got, err)
	}
	if s.Name != joules+": the rack" {
		t.Errorf("name %q", s.Name)
	}
}

func TestOwnFileThatFails(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.w"), "1")
	write(t, filepath.Join(dir, "b.w"), "none")
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"absent": "no such file", "*.w": "matches 2 files", "b.w": "b.w: expected a number in W, got \"none\"", "pipe": "pipe is no regular file", ".": "is no regular file", "*.no": "no such file",
	} {
		got, err := Own{File: filepath.Join(dir, name), Unit: unit(t, "W")}.Source().Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, want)
		}
	}
}

func TestOwnCommand(t *testing.T) {
	s := Own{Command: "printf '%s\n' 'Power: 213 Watts' | awk '{print $2}'", Unit: unit(t, "W")}.Source()
	if got, err := s.Read(t.Context()); err != nil || got.Watts != 213 {
		t.Errorf("%+v, %v", got, err)
	}
	if strings.Contains(s.Name, "awk") {
		t.Errorf("the name %q shows the command, which may hold a password", s.Name)
	}
	for script, want := range map[string]string{
		"echo no power >&2; exit 3":      "exit status 3: no power",
		"exit 1":                         "exit status 1",
		"true":                           "expected one number in W, got \"\"",
		"plimsoll-no-such-program":       "exit status 127",
		"yes 1 | head -c 1000000":        "expected one number",
		"kill -9 $$":                     "signal: killed",
		"echo 5; sleep 100 & echo $!":    "keeps its output open",
		"echo 5 J":                       "expected one number in W",
		"echo -5":                        "below 0",
		"echo '; rm -rf /nonexistent'":   "expected one number",
		"echo 5 >&2; exec false; echo 5": "exit status 1",
	} {
		got, err := Own{Command: script, Unit: unit(t, "W")}.Source().Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %q", script, got, err, want)
		}
	}
}

// A command that hangs ends with all that it started.
func TestOwnCommandThatHangs(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := Own{Command: "sleep 1000 & echo $! >" + ready + ".new; mv " + ready + ".new " + ready + "; wait", Unit: unit(t, "W")}.Source().Read(ctx)
		ended <- err
	}()
	var pid []byte
	await(t, "start of the command", func() bool { pid, _ = os.ReadFile(ready); return len(pid) > 0 })
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("ended with %v", err)
	}
	state := func() string { // of the process, or nothing
		text, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		_, rest, _ := strings.Cut(string(text), ") ")
		return rest
	}
	await(t, "end of what the command started", func() bool { return state() == "" || state()[0] == 'Z' })
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited 20 s for the %s", what)
		}
	}
}
