package fleet_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/fabric/hub"
	"plimsoll/internal/agent/testnet"
)

// The lab is killed: the agent ends the load and puts its setting back by itself, and the
// run goes on with the first trial that had not ended.
func TestTheLabIsKilled(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	s.platform = ", lease: 2s"
	former := s.setting(0)
	s.study(short)
	s.agent(0)
	lab := s.run(2)
	lab.kill(t)
	before := s.records()
	s.until("the agent had put back its setting", func() bool { return s.setting(0) == former && !s.worker(0) })
	s.done(s.start("lab", s.ground.Lab(), "resume", "out", "--quiet"))
	s.kept(before, "")
	if now := s.setting(0); now != former {
		t.Errorf("the setting is %s, and was %s", now, former)
	}
	if halves := len(s.entries("trial")) - len(s.entries("trial ended")); halves != 1 {
		t.Errorf("%d trials began and did not end, want the one that was cut", halves)
	}
}

// The agent is killed: what it ran dies with it. It comes back, puts back what it had
// changed, and the study goes on with the trial void and repeated.
func TestTheAgentIsKilled(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	former := s.setting(0)
	s.study(short)
	s.agent(0)
	lab := s.run(2)
	s.agents[0].kill(t)
	before := s.records()
	s.until("the worker died", func() bool { return !s.worker(0) })
	s.agent(0)
	s.done(lab)
	if void := s.kept(before, "joined again"); void != 1 {
		t.Errorf("%d trials are void because the agent went away, want 1", void)
	}
	if now := s.setting(0); now != former {
		t.Errorf("the setting is %s, and was %s", now, former)
	}
}

// An agent that was killed puts its setting back when it starts again, with no lab there.
func TestTheAgentIsKilledAndTheLabToo(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	former := s.setting(0)
	s.study(short)
	s.agent(0)
	lab := s.run(1)
	s.agents[0].kill(t)
	lab.kill(t)
	if s.setting(0) == former {
		t.Fatal("nothing is left to put back: nothing was tested")
	}
	s.agent(0)
	s.until("the agent had put back its setting", func() bool { return s.setting(0) == former })
}

// The network is cut for less than the lease: the load goes on, and so does the trial.
func TestTheNetworkIsCut(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	cut, window, longest := 2*time.Second, "2500ms", "3s"
	if os.Getenv("PLIMSOLL_DEEP") != "" {
		cut, window, longest = 30*time.Second, "32s", "34s"
	}
	s.study("{settle: 10ms, warmup: 200ms, window: " + window + ", longest: " + longest + ", interval: 100ms, blocks: 1, retries: 100}")
	s.agent(0)
	lab := s.run(1)
	before := s.records()
	if err := s.ground.Cut(0); err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(cut)
	defer timer.Stop()
	<-timer.C
	if !s.worker(0) {
		t.Error("the load ended while the network was cut")
	}
	if len(s.records()) != len(before) {
		t.Error("a trial ended while the network was cut")
	}
	if err := s.ground.Mend(0); err != nil {
		t.Fatal(err)
	}
	s.over(lab)
	s.kept(before, "")
	for _, e := range s.entries("trial ended") {
		if strings.Contains(e.Void, "connection") || strings.Contains(e.Void, "agent") || strings.Contains(e.Void, "stream") {
			t.Errorf("trial %d is void: %s", e.Trial, e.Void)
		}
	}
	if got, begun := len(s.entries("trial ended")), len(s.entries("trial")); got != begun {
		t.Errorf("%d trials began and %d ended", begun, got)
	}
}

// The network is cut for longer than the lease: the agent puts its setting back while it is
// cut off; the trial is void and repeated afterwards.
func TestTheNetworkIsCutForLong(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	s.platform = ", lease: 1500ms"
	former := s.setting(0)
	s.study(short)
	s.agent(0)
	lab := s.run(2)
	if err := s.ground.Cut(0); err != nil {
		t.Fatal(err)
	}
	before := s.records()
	s.until("the agent had put back its setting", func() bool { return s.setting(0) == former && !s.worker(0) })
	s.until("the lab had noticed", func() bool { return len(s.records()) > len(before) })
	if err := s.ground.Mend(0); err != nil {
		t.Fatal(err)
	}
	s.done(lab)
	if void := s.kept(before, "the lease expired"); void != 1 {
		t.Errorf("%d trials are void because the lease expired, want 1", void)
	}
}

// The NATS server is killed, and comes back within the lease: the trial goes on.
func TestTheServerIsKilled(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	server := s.external()
	s.study("{settle: 10ms, warmup: 200ms, window: 3s, longest: 4s, interval: 100ms, blocks: 1, retries: 100}")
	s.agent(0)
	lab := s.run(1)
	before := s.records()
	server.kill(t)
	server = s.external()
	if !s.worker(0) {
		t.Error("the load ended with the server")
	}
	s.over(lab)
	s.kept(before, "")
	for _, e := range s.entries("trial ended") {
		if strings.Contains(e.Void, "connection") || strings.Contains(e.Void, "agent") || strings.Contains(e.Void, "stream") {
			t.Errorf("trial %d is void: %s", e.Trial, e.Void)
		}
	}
	server.kill(t)
}

// The disk on which the agent keeps what to put back is full: nothing is changed that could
// not be put back. With room again the study is run, and all is put back.
func TestTheAgentsDiskIsFull(t *testing.T) {
	s := newSite(t, 1)
	t.Parallel()
	disk := s.path("agent", 0)
	if err := os.MkdirAll(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "plimsoll-test", disk).CombinedOutput(); err != nil {
		t.Skipf("no small disk can be made here: %s: nothing was tested", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", disk).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
	former := s.setting(0)
	s.study(short)
	s.agent(0)
	lab := s.run(2)
	before := s.records()
	full := filepath.Join(disk, "full")
	_ = os.WriteFile(full, make([]byte, 4<<20), 0o644) // as much as there is room for
	count := len(s.records())
	s.until("two more trials had ended", func() bool { return len(s.records()) >= count+2 })
	s.agents[0].kill(t)
	s.agent(0) // on the full disk
	s.until("the agent had put back its setting", func() bool { return s.setting(0) == former })
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	s.done(lab)
	s.kept(before, "")
	if now := s.setting(0); now != former {
		t.Errorf("the setting is %s, and was %s", now, former)
	}
}

// hubVariable makes this program the NATS server of a test.
const hubVariable = "PLIMSOLL_TEST_HUB"

// serveHub serves as a NATS server until it is killed.
func serveHub() bool {
	text := os.Getenv(hubVariable)
	if text == "" {
		return false
	}
	var o hub.Options
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		var h *hub.Hub
		if h, err = hub.Start(o); err == nil {
			fmt.Println(h.Fingerprint())
			select {}
		}
	}
	fmt.Println(err)
	os.Exit(1)
	return true
}

// external starts a NATS server of its own in the lab's namespace and has lab and agents use it.
func (s *site) external() *process {
	s.t.Helper()
	keys, err := fabric.ReadAllowed(s.path("lab") + "/agents")
	if err != nil {
		s.t.Fatal(err)
	}
	lab, err := fabric.KeepKey(s.path("lab") + "/lab.key")
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(hub.Options{Listen: testnet.Address + ":4333", Folder: s.path("hub"), Lab: lab.Public(), Agents: keys})
	if err != nil {
		s.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.ground.Command(s.t.Context(), s.ground.Lab(), self)
	c.Env = append(os.Environ(), hubVariable+"="+string(text))
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGKILL) }
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	p := &process{cmd: c, name: "hub", ended: make(chan error, 1)}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "sha256:") {
		s.t.Fatalf("the server said %q, %v", line, err)
	}
	go func() { p.ended <- c.Wait() }()
	url, ca := "nats://"+testnet.Address+":4333", strings.TrimSpace(line)
	s.platform = fmt.Sprintf(", url: %q, ca: %q", url, ca)
	s.join = []string{"--lab", url, "--ca", ca, "--lab-key", lab.Public()}
	return p
}
