package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/tuner"
)

// cables makes network namespaces, each at the end of a veth pair with generic receive offload.
// They are as many as make two vCPUs for each CPU of this host.
func cables(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * len(regexp.MustCompile(`(?m)^cpu[0-9]+ `).FindAll(text, -1)) {
		name := fmt.Sprintf("cable%d", i)
		space := fmt.Sprintf("tenant%d", i)
		for _, line := range []string{"ip netns add " + space, "ip link add " + name + " type veth peer name eth0 netns " + space, "ip link set " + name + " up", "ethtool -K " + name + " gro on"} {
			argv := strings.Fields(line)
			if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
				t.Skipf("%s: %v: %s", line, err, out)
			}
		}
		names = append(names, name)
	}
	return names
}

// polls are the settings of interfaces that delay their packets.
func polls(t *testing.T, names []string) string {
	t.Helper()
	var all []string
	for _, name := range names {
		all = append(all, name+" "+value(t, "/sys/class/net/"+name+"/gro_flush_timeout")+" "+value(t, "/sys/class/net/"+name+"/napi_defer_hard_irqs"))
	}
	return strings.Join(all, ", ")
}

// tuning is a tuner as a process.
type tuning struct {
	t      *testing.T
	cmd    *exec.Cmd
	events *bufio.Scanner
}

func (r *rig) tune() *tuning {
	r.t.Helper()
	c := r.command("agent", "--tuner", "dense", "--every", "1s", "--json")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	return &tuning{r.t, c, bufio.NewScanner(out)}
}

// until reads events until one is as wanted.
func (p *tuning) until(what string, wanted func(tuner.Event) bool) tuner.Event {
	p.t.Helper()
	for p.events.Scan() {
		var e tuner.Event
		if err := json.Unmarshal(p.events.Bytes(), &e); err != nil {
			p.t.Fatalf("%v: %s", err, p.events.Text())
		}
		p.t.Logf("%s: %s %q %q", e.Kind, e.Text, e.Changes, e.Notes)
		if wanted(e) {
			return e
		}
	}
	p.t.Fatalf("the tuner ended before %s: %v", what, p.cmd.Wait())
	return tuner.Event{}
}

func isBatching(e tuner.Event) bool {
	return e.Decision != nil && e.Decision.On && len(e.Changes) > 0
}

// A dense host is batched, and put back on SIGTERM, and by restore after a kill.
func TestRealTunerOfADenseHost(t *testing.T) {
	if !contained(t) {
		return
	}
	r := &rig{t: t, dir: t.TempDir()}
	names := cables(t)
	before := polls(t, names)
	hog(t, "19")
	p := r.tune()
	e := p.until("it batches", isBatching)
	if c := e.Counters; c == nil || c.VMs < len(names) || c.VCPUs < len(names) || c.Utilization < 0.5 {
		t.Errorf("decided by %+v", c)
	}
	batched := polls(t, names)
	if n := strings.Count(batched, " 200000 100"); n != len(names) {
		t.Errorf("%d of %d interfaces are batched: %s", n, len(names), batched)
	}
	second := r.command("agent", "--tuner", "dense")
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "a tuner runs on this host already") {
		t.Errorf("a second tuner: %v: %s", err, out)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("it said that it ends", func(e tuner.Event) bool { return e.Kind == tuner.Ended && e.Error == "" })
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if now := polls(t, names); now != before {
		t.Errorf("after SIGTERM: %s, was %s", now, before)
	}
	if said := r.must("restore"); strings.TrimSpace(said) != "nothing to restore" {
		t.Errorf("restore after an end in good order: %s", said)
	}
	p = r.tune()
	p.until("it batches again", isBatching)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // by the signal
	if now := polls(t, names); now != batched {
		t.Errorf("after a kill: %s, want %s", now, batched)
	}
	if out, err := exec.Command("ip", "link", "delete", names[0]).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said := r.must("restore")
	if !strings.Contains(said, "host.napi_deferral:"+names[0]+" ended with its network interface") || !strings.Contains(said, "host.gro_flush_timeout:"+names[1]+` put back from "200µs" to "0s"`) {
		t.Errorf("restore said %s", said)
	}
	if now, was := polls(t, names[1:]), before[strings.Index(before, ", ")+2:]; now != was {
		t.Errorf("after restore: %s, was %s", now, was)
	}
}

// A study has arms without and with the tuner, and leaves none.
func TestRealTunerAsAFactor(t *testing.T) {
	if !contained(t) {
		return
	}
	r := &rig{t: t, dir: t.TempDir()}
	names := cables(t)
	before := polls(t, names)
	hog(t, "19")
	text := studyOf("host.tuner", "off", "dense/1s")
	text = strings.NewReplacer("window: 200ms, longest: 400ms", "window: 1500ms, longest: 2s", "blocks: 200", "blocks: 2").Replace(text)
	if err := os.WriteFile(filepath.Join(r.dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r.must("run", "study.yaml", "--out", "first", "--seed", "1", "--quiet")
	records, err := filepath.Glob(filepath.Join(r.dir, "first", "trials", "*", "record.json"))
	if err != nil || len(records) < 4 {
		t.Fatalf("records %q, %v", records, err)
	}
	with := 0
	for _, name := range records {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "dense/1s") {
			with++
		}
	}
	if with < 2 || with == len(records) {
		t.Errorf("%d of %d trials had the tuner", with, len(records))
	}
	noTuner(t)
	if now := polls(t, names); now != before {
		t.Errorf("after the run: %s, was %s", now, before)
	}
	r.killed("the tuner batches", func() bool { return strings.Contains(polls(t, names), " 200000 100") })
	r.must("restore")
	noTuner(t)
	if now := polls(t, names); now != before {
		t.Errorf("after restore: %s, was %s", now, before)
	}
}

// noTuner asserts that no tuner runs in this process namespace.
func noTuner(t *testing.T) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "host-tuner") {
			t.Errorf("a tuner runs: %s: %q", name, text)
		}
	}
}
