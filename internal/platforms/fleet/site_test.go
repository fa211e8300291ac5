package fleet_test

import (
	"bytes"
	"context"
	"encoding/base32"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/agent/testnet"
)

// build makes the program, once for all tests.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plimsoll-fleet-test-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "plimsoll")
	c := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "plimsoll/cmd/plimsoll")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return program, nil
})

// parallel is how many tests run at once: those with agents in this process wait more than they
// work, those with programs of their own less so.
func parallel() string {
	if os.Getenv("PLIMSOLL_REAL") != "" {
		return "5"
	}
	return "16"
}

func TestMain(m *testing.M) {
	if served := serveHub(); served {
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", parallel()); err != nil {
		panic(err)
	}
	status := m.Run()
	if os.Getenv("PLIMSOLL_REAL") != "" {
		if program, err := build(); err == nil {
			_ = os.RemoveAll(filepath.Dir(program))
		}
	}
	os.Exit(status)
}

// site is a lab and agents in network namespaces, all of them the built program.
type site struct {
	t        *testing.T
	ground   *testnet.Network
	dir      string
	program  string
	join     []string // how an agent is started
	platform string   // settings of the platform that differ
	agents   []*process
}

func newSite(t *testing.T, agents int) *site {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to run agents in network namespaces")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make network namespaces: nothing was tested")
	}
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	ground, err := testnet.Open(agents)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, ground: ground, dir: t.TempDir(), program: program, agents: make([]*process, agents)}
	t.Cleanup(func() {
		if t.Failed() {
			s.tell()
		}
		if err := ground.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range agents {
		key := strings.TrimSpace(s.must("agent", "key", s.path("key", i)))
		s.must("agent", "allow", "--state", s.path("lab"), key)
	}
	s.join = s.joining(s.must("agent", "show", "--listen", testnet.Address+":4222", "--state", s.path("lab"), "--wait", "1ms"))
	return s
}

// joining is the part of the printed command that every agent needs.
func (s *site) joining(printed string) []string {
	s.t.Helper()
	found := regexp.MustCompile(`--lab (\S+) --key FILE --lab-key (\S+) --ca (\S+)`).FindStringSubmatch(printed)
	if found == nil {
		s.t.Fatalf("no command that starts an agent in %q", printed)
	}
	return []string{"--lab", found[1], "--lab-key", found[2], "--ca", found[3]}
}

func (s *site) path(parts ...any) string {
	text := s.dir
	for _, p := range parts {
		text += "/" + fmt.Sprint(p)
	}
	if len(parts) > 1 {
		if err := os.MkdirAll(filepath.Dir(text), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
	return text
}

// tell shows what agents and labs said.
func (s *site) tell() {
	logs, _ := filepath.Glob(s.path("log", "*"))
	for _, name := range logs {
		if text, err := os.ReadFile(name); err == nil {
			s.t.Logf("%s:\n%s", filepath.Base(name), text)
		}
	}
}

// must runs the program in the lab's namespace to its end, and returns all that it said.
func (s *site) must(args ...string) string {
	s.t.Helper()
	out, err := s.command(s.ground.Lab(), args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("plimsoll %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (s *site) command(namespace string, args ...string) *exec.Cmd {
	c := s.ground.Command(context.Background(), namespace, append([]string{s.program}, args...)...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+s.path("state"))
	return c
}

// process is the program at work.
type process struct {
	cmd   *exec.Cmd
	name  string
	ended chan error
}

func (s *site) start(name, namespace string, args ...string) *process {
	s.t.Helper()
	log, err := os.OpenFile(s.path("log", name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	p := &process{cmd: s.command(namespace, args...), name: name, ended: make(chan error, 1)}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p
}

// agent starts an agent.
func (s *site) agent(i int, more ...string) {
	s.t.Helper()
	args := append([]string{"agent", "--key", s.path("key", i), "--name", fmt.Sprintf("agent-%02d", i),
		"--state", s.path("agent", i, "state"), "--scratch", s.path("agent", i, "scratch")}, s.join...)
	s.agents[i] = s.start(fmt.Sprint("agent-", i), s.ground.Agent(i), append(args, more...)...)
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.ended
}

// The setting that the study changes belongs to the namespace, so each agent has its own.
const retries = "/proc/sys/net/ipv4/tcp_syn_retries"

// study writes a short study of six trials that changes a setting of the agent.
func (s *site) study(measure string) {
	s.t.Helper()
	text := `study: fleet
question: Is anything lost?
platform: {fleet: {state: ` + s.path("lab") + `, listen: "` + testnet.Address + `:4222", wait: 60s` + s.platform + `}}
workload:
  processor: {working_set: 64KiB, unit: 1KiB, think: 5ms}
factors:
  host.sysctl:net.ipv4.tcp_syn_retries: [3, 4]
margin: 50%
measure: ` + measure + `
headline: [units]
`
	if err := os.WriteFile(s.path("study.yaml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

const short = "{settle: 10ms, warmup: 100ms, window: 400ms, longest: 700ms, interval: 50ms, blocks: 3, retries: 100}"

// setting is what an agent's setting is.
func (s *site) setting(i int) string {
	s.t.Helper()
	text, err := s.ground.Read(context.Background(), s.ground.Agent(i), retries)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// until waits for something to be so.
func (s *site) until(what string, so func() bool) {
	s.t.Helper()
	deadline := time.After(90 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-deadline:
			s.t.Fatalf("it took too long until %s", what)
		}
	}
}

// run starts the study and waits until some trials have ended and one more is under way
// on an agent.
func (s *site) run(trials int) *process {
	s.t.Helper()
	p := s.start("lab", s.ground.Lab(), "run", "study.yaml", "--out", "out", "--seed", "3", "--quiet")
	s.underway(p, trials)
	return p
}

func (s *site) underway(p *process, trials int) {
	s.t.Helper()
	s.until("a trial was under way", func() bool {
		select {
		case err := <-p.ended:
			s.t.Fatalf("the run ended early: %v", err)
		default:
		}
		return len(s.entries("trial ended")) >= trials && s.worker(0)
	})
}

// worker says whether a worker makes load on an agent.
func (s *site) worker(i int) bool {
	s.t.Helper()
	pids, err := testnet.Processes(s.ground.Agent(i))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pid := range pids {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && bytes.HasSuffix(text, []byte("\x00worker\x00")) {
			return true
		}
	}
	return false
}

type entry struct {
	Kind, Void string
	Trial      int
}

// entries are those of a kind in the journal of the run.
func (s *site) entries(kind string) (found []entry) {
	s.t.Helper()
	text, _ := os.ReadFile(s.path("out") + "/journal.jsonl")
	for line := range strings.Lines(string(text)) {
		var e entry
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &e) == nil && e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// records are those of the trials that ended, as they lie on the disk.
func (s *site) records() map[int]string {
	s.t.Helper()
	all := map[int]string{}
	for _, e := range s.entries("trial ended") {
		if _, twice := all[e.Trial]; twice {
			s.t.Errorf("trial %d ended twice", e.Trial)
		}
		text, err := os.ReadFile(fmt.Sprintf("%s/trials/%04d/record.json", s.path("out"), e.Trial))
		if err != nil {
			s.t.Fatal(err)
		}
		all[e.Trial] = string(text)
	}
	return all
}

// kept checks that trials that had ended are as they were, and says how many were void with
// a cause that holds the text.
func (s *site) kept(before map[int]string, cause string) (void int) {
	s.t.Helper()
	after := s.records()
	for trial, record := range before {
		if after[trial] != record {
			s.t.Errorf("trial %d had ended; its record was %q and is %q", trial, record, after[trial])
		}
	}
	for _, e := range s.entries("trial ended") {
		if cause != "" && strings.Contains(e.Void, cause) {
			void++
		}
	}
	return void
}

// over waits for the end of a run whose trials a busy machine may have made void.
func (s *site) over(p *process) {
	s.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(2 * time.Minute):
		s.t.Fatalf("%s goes on", p.name)
	}
	if n := len(s.entries("end")); n != 1 {
		s.t.Errorf("the journal has %d ends", n)
	}
}

// done waits for the end of a run, which must be good, with six trials that count.
func (s *site) done(p *process) {
	s.t.Helper()
	select {
	case err := <-p.ended:
		if err != nil {
			s.t.Fatalf("%s ended with %v", p.name, err)
		}
	case <-time.After(2 * time.Minute):
		s.t.Fatalf("%s goes on", p.name)
	}
	valid := 0
	for _, e := range s.entries("trial ended") {
		if e.Void == "" {
			valid++
		}
	}
	if valid < 6 || len(s.entries("end")) != 1 {
		s.t.Errorf("%d valid trials, %d ends", valid, len(s.entries("end")))
	}
}

// secrets are the private keys of the lab and its agents, as text and as bytes.
func (s *site) secrets() (all [][]byte) {
	s.t.Helper()
	files, err := filepath.Glob(s.path("key") + "/*")
	if err != nil || len(files) == 0 {
		s.t.Fatalf("no keys: %v", err)
	}
	for _, file := range append(files, s.path("lab")+"/lab.key") {
		text, err := os.ReadFile(file)
		if err != nil {
			s.t.Fatal(err)
		}
		seed := bytes.TrimSpace(text)
		raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(string(seed))
		if err != nil || len(raw) < 34 {
			s.t.Fatalf("%s holds no key: %v", file, err)
		}
		all = append(all, seed, raw[2:34])
	}
	return all
}

// exposed looks for private keys where others may look: in the arguments and environments of
// all processes, and in every file but those that hold keys.
func (s *site) exposed() (places []string) {
	s.t.Helper()
	secrets := s.secrets()
	look := func(name string) {
		text, err := os.ReadFile(name)
		if err != nil {
			return // it has ended meanwhile
		}
		for _, secret := range secrets {
			if bytes.Contains(text, secret) {
				places = append(places, name)
				return
			}
		}
	}
	for _, pattern := range []string{"/proc/[0-9]*/cmdline", "/proc/[0-9]*/environ"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 2 {
			s.t.Fatalf("no processes: %v", err)
		}
		for _, name := range names {
			look(name)
		}
	}
	err := filepath.WalkDir(s.dir, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Dir(name) != s.path("key") && name != s.path("lab")+"/lab.key" {
			look(name)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return places
}
