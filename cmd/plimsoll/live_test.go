package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/task"
)

// vcenter is a simulated vCenter behind a network that can fail. Processes of plimsoll use it.
type vcenter struct {
	*testing.T
	server *sim.Server
	dir    string
	listen string

	mu    sync.Mutex
	front net.Listener
	open  map[net.Conn]bool
}

// newVCenter serves three hosts, of which the first is too small for the six VMs on it.
func newVCenter(t *testing.T) *vcenter {
	t.Helper()
	return serveCluster(t, crowded(), sim.Options{})
}

// timed has operations of one kind take ten minutes of a time that the test moves on.
func timed(kind string) sim.Options {
	return sim.Options{Clock: clock.New(time.Now(), 0), Tasks: task.Options{Times: task.Times{Mean: map[string]time.Duration{kind: modelled}}}}
}

// modelled is how long an operation takes that takes a time.
const modelled = 10 * time.Minute

// meanwhile moves the time on while something is done.
func (v *vcenter) meanwhile(do func()) {
	ctx, stop := context.WithCancel(v.Context())
	var passing sync.WaitGroup
	passing.Go(func() {
		for ctx.Err() == nil {
			v.server.Step(modelled / 20)
			<-time.After(5 * time.Millisecond)
		}
	})
	defer passing.Wait()
	defer stop()
	do()
}

// crowded has six VMs on its first host, which is too small for them.
func crowded() *cluster.Cluster {
	c := clustertest.Lopsided()
	for v := range c.VMs {
		c.VMs[v].Demand.CPU = cluster.Steady(9000)
	}
	return c
}

// serveCluster serves a cluster.
func serveCluster(t *testing.T, c *cluster.Cluster, o sim.Options) *vcenter {
	t.Helper()
	v := &vcenter{T: t, dir: t.TempDir(), listen: "127.0.0.1:0", open: map[net.Conn]bool{}}
	var err error
	o.Clusters, o.Listen, o.Folder = []*cluster.Cluster{c}, "127.0.0.1:0", t.TempDir()
	v.server, err = sim.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	v.connect()
	t.Cleanup(func() {
		v.cut()
		if err := v.server.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// connect opens the network.
func (v *vcenter) connect() {
	v.Helper()
	l, err := net.Listen("tcp", v.listen)
	if err != nil {
		v.Fatal(err)
	}
	u, err := url.Parse(v.server.URL().String())
	if err != nil {
		v.Fatal(err)
	}
	v.mu.Lock()
	v.front, v.listen = l, l.Addr().String()
	v.mu.Unlock()
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", u.Host)
			if err != nil {
				from.Close()
				continue
			}
			v.mu.Lock()
			v.open[from], v.open[to] = true, true
			v.mu.Unlock()
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					way[0].Close()
				}()
			}
		}
	}()
}

// cut closes the network with all its connections.
func (v *vcenter) cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.front.Close()
	for c := range v.open {
		c.Close()
	}
	clear(v.open)
}

// command is plimsoll cluster for this vCenter.
func (v *vcenter) command(args ...string) *exec.Cmd {
	at := fmt.Sprintf("--live=vsphere://operator@%s/?password=env:VCENTER_PASSWORD&thumbprint=%s", v.listen, strings.ReplaceAll(v.server.Thumbprints().SHA256, ":", ""))
	c := exec.CommandContext(v.Context(), "plimsoll", append(append([]string{"cluster"}, args...), at)...)
	c.Env = append(os.Environ(), "VCENTER_PASSWORD=of-the-test", "XDG_STATE_HOME="+v.dir)
	return c
}

// run runs a command to its end, and wants an exit status.
func (v *vcenter) run(want int, args ...string) (stdout, stderr string) {
	v.Helper()
	var out, complaint bytes.Buffer
	c := v.command(args...)
	c.Stdout, c.Stderr = &out, &complaint
	_ = c.Run()
	if got := c.ProcessState.ExitCode(); got != want {
		v.Fatalf("cluster %q: status %d, want %d\n%s%s", args, got, want, out.String(), complaint.String())
	}
	return out.String(), complaint.String()
}

// tasks counts the tasks that there are.
func (v *vcenter) tasks() int { return len(v.server.Model.Map().AllReference("Task")) }

// layout is the VMs of each host, as the cluster is shown.
func (v *vcenter) layout() (lines []string) {
	v.Helper()
	kept := filepath.Join(v.T.TempDir(), "lab.yaml")
	v.run(0, "show", "--out", kept)
	text, err := os.ReadFile(kept)
	if err != nil {
		v.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, vm, found := strings.Cut(line, "- {name: "); found && strings.Contains(vm, "host: ") {
			fields := strings.Split(vm, ", ")
			lines = append(lines, fields[0]+" "+fields[1])
		}
	}
	return lines
}

// await waits for something.
func (v *vcenter) await(what string, such func() bool) {
	v.Helper()
	for range 3000 {
		if such() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	v.Fatalf("waited for %s until the time limit", what)
}

// pass has the time pass until something has happened. No operation begins and ends from one look to the next.
func (v *vcenter) pass(until string, such func() bool) {
	v.Helper()
	v.await(until, func() bool {
		if such() {
			return true
		}
		v.server.Step(modelled / 4)
		return false
	})
}

// journal waits for a text in the newest journal, and gives its name.
func (v *vcenter) journal(until string) (name string) {
	v.Helper()
	v.await("a journal with "+until, func() bool {
		names, _ := filepath.Glob(filepath.Join(v.dir, "plimsoll", "live", "*.jsonl"))
		if len(names) == 0 {
			return false
		}
		name = names[len(names)-1]
		text, err := os.ReadFile(name)
		return err == nil && strings.Contains(string(text), until)
	})
	return name
}

// Simulators are built one at a time: they share variables while they are.
func TestLive(t *testing.T) {
	t.Parallel()
	t.Run("balance, evacuate, undo", liveVCenter)
	t.Run("killed in the middle of a migration", liveKilled)
	t.Run("interrupted", liveInterrupted)
	t.Run("topologies", liveTopologies)
	t.Run("a watch survives a loss", liveWatch)
	t.Run("another balancer", liveRival)
	t.Run("operations that were killed", liveOperations)
}

// A cluster of a vCenter is balanced, evacuated, and put back.
func liveVCenter(t *testing.T) {
	v := newVCenter(t)
	before := v.layout()
	if len(before) != 6 || !strings.Contains(before[0], "a-1 host: esx-1") {
		t.Fatalf("the VMs are %q", before)
	}
	out, _ := v.run(0, "balance", "--apply")
	if !strings.Contains(out, "4 of 4 changes made") {
		t.Errorf("balance:\n%s", out)
	}
	balanced := v.journal(`"kind":"end"`)
	if text, err := os.ReadFile(balanced); err != nil || strings.Contains(string(text), "password") || strings.Contains(string(text), "thumbprint") {
		t.Errorf("the journal has parameters of the address, %v:\n%s", err, text)
	}
	if report, _ := v.run(0, "doctor"); strings.Contains(report, "\nMoves\n") {
		t.Errorf("after the moves, more are recommended:\n%s", report)
	}
	out, _ = v.run(0, "evacuate", "esx-3", "--apply")
	if !strings.Contains(out, "put esx-3 into maintenance") {
		t.Errorf("evacuate:\n%s", out)
	}
	v.run(0, "undo", v.journal(`"action":"maintain"`))
	v.run(0, "undo", balanced)
	if after := v.layout(); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("after the undo the VMs are %q, before %q", after, before)
	}
}

// A plimsoll that is killed in the middle of a migration leaves a journal that undoes it all.
func liveKilled(t *testing.T) {
	v := serveCluster(t, crowded(), timed("migrate"))
	before := v.layout()
	first := v.tasks()
	c := v.command("balance", "--apply")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	v.pass("a second migration", func() bool { return v.tasks() == first+2 })
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	name, note := v.journal(`"intent":2`), ""
	v.meanwhile(func() { _, note = v.run(0, "undo", name) })
	if !strings.Contains(note, "an earlier plimsoll was killed") || !strings.Contains(note, "was made: a-2 is on esx-3") {
		t.Errorf("undo notes:\n%s", note)
	}
	if after := v.layout(); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("after the undo the VMs are %q, before %q", after, before)
	}
}

// Topologies of VMs that are off are changed. A plimsoll that is killed meanwhile leaves a journal that
// takes all of it back.
func liveTopologies(t *testing.T) {
	model := clustertest.Lopsided()
	for h := range model.Hosts {
		model.Hosts[h].Sockets, model.Hosts[h].NodesPerSocket, model.Hosts[h].CoresPerNode, model.Hosts[h].ThreadsPerCore = 2, 1, 8, 1
	}
	for i := range model.VMs {
		model.VMs[i].VCPUs, model.VMs[i].CoresPerSocket = 12, 1
		if i > 0 {
			model.VMs[i].Host = cluster.Nowhere
		}
	}
	v := serveCluster(t, model, timed("reconfigVm"))
	settings := func() (changes string) {
		out, _ := v.run(0, "topology")
		_, changes, _ = strings.Cut(out, "\nrules:\n")
		return changes
	}
	before := settings()
	if strings.Count(before, "cores-per-socket=1 ") != 6 || !strings.Contains(before, "(it runs)") {
		t.Fatalf("changes are\n%s", before)
	}
	first := v.tasks()
	c := v.command("topology", "--apply")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	v.pass("a third change", func() bool { return v.tasks() == first+3 })
	name, note, out := v.journal(`"intent":3`), "", ""
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	v.meanwhile(func() { _, note = v.run(0, "undo", name) })
	if !strings.Contains(note, "an earlier plimsoll was killed") {
		t.Errorf("undo notes:\n%s", note)
	}
	if after := settings(); after != before {
		t.Errorf("after the undo changes are\n%s\nand were\n%s", after, before)
	}
	v.meanwhile(func() { out, _ = v.run(0, "topology", "--apply") })
	if !strings.Contains(out, "5 of 5 changes made") {
		t.Errorf("topology --apply:\n%s", out)
	}
	if report, _ := v.run(0, "topology"); strings.Count(report, ": stale\n") != 1 {
		t.Errorf("after the changes the report is\n%s", report)
	}
	if after := settings(); strings.Count(after, "cores-per-socket=1 ") != 1 || !strings.Contains(after, "(it runs)") {
		t.Errorf("after the changes there are\n%s", after)
	}
}

// follow begins a watch, and gives what waits until it has told something, and all that it told.
func (v *vcenter) follow(interval string) (c *exec.Cmd, until func(part string), told func() string) {
	v.Helper()
	var mu sync.Mutex
	var text strings.Builder
	c = v.command("watch", "--interval="+interval)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		v.Fatal(err)
	}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			mu.Lock()
			fmt.Fprintln(&text, lines.Text())
			mu.Unlock()
		}
	}()
	told = func() string {
		mu.Lock()
		defer mu.Unlock()
		return text.String()
	}
	return c, func(part string) {
		v.Helper()
		v.await("a line of the watch with "+part, func() bool { return strings.Contains(told(), part) })
	}, told
}

// A watch survives the loss of its vCenter.
func liveWatch(t *testing.T) {
	v := newVCenter(t)
	c, until, _ := v.follow("1s")
	until("recommend   move a-1 from esx-1 to esx-2")
	v.cut()
	until("lost        the control plane does not answer")
	v.connect()
	until("back        the control plane answers again")
	v.run(0, "balance", "--apply")
	until("moved       a-1 moved from esx-1 to esx-2 by operator, as recommended")
	until("balanced    no move is recommended")
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || c.ProcessState.ExitCode() != cli.ExitDone {
		t.Errorf("the watch ends with %v", err)
	}
}

// DRS of the vCenter, fully automated, makes a round while a plan is carried out: the plan stops, and
// says why; the watch tells who moved what.
// plimsoll is suspended from its first migration to the first of DRS: both want the same moves in the same
// order, and DRS begins nothing with a VM that is being moved.
func liveRival(t *testing.T) {
	o := timed("migrate")
	o.Rounds, o.Behavior = 12*modelled, "fullyAutomated"
	v := serveCluster(t, crowded(), o)
	_, until, told := v.follow("1h")
	until("recommend   move a-1 from esx-1 to esx-2")
	first := v.tasks()
	var out, complaint bytes.Buffer
	c := v.command("balance", "--apply")
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	v.await("the first migration", func() bool { return v.tasks() == first+1 })
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	v.pass("the end of the migration", func() bool {
		return strings.Contains(told(), "moved       a-1 moved from esx-1 to esx-2 by operator, as recommended")
	})
	v.pass("a round of DRS: a task of the cluster, and its first migration", func() bool { return v.tasks() == first+3 })
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if text := out.String(); c.ProcessState.ExitCode() != cli.ExitVerdict || !strings.Contains(text, "is another balancer active?") {
		t.Errorf("status %d\n%s%s", c.ProcessState.ExitCode(), text, complaint.String())
	}
	v.journal(`"kind":"end"`)
	v.pass("a move by DRS in the watch", func() bool { return strings.Contains(told(), " by DRS") })
}

// Ctrl-C ends a plan between two states that are known: the migration is cancelled or has ended.
func liveInterrupted(t *testing.T) {
	v := serveCluster(t, crowded(), timed("migrate"))
	before := v.layout()
	first := v.tasks()
	var out, complaint bytes.Buffer
	c := v.command("balance", "--apply")
	c.Stdout, c.Stderr = &out, &complaint
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	v.pass("a second migration", func() bool { return v.tasks() == first+2 })
	other := v.command("balance", "--apply") // of another user's state, by another name
	other.Args[len(other.Args)-1] = strings.Replace(other.Args[len(other.Args)-1], "operator@127.0.0.1", "someone@localhost", 1)
	other.Env = append(other.Env, "XDG_STATE_HOME="+t.TempDir())
	if refused, _ := other.CombinedOutput(); other.ProcessState.ExitCode() != cli.ExitMistake || !strings.Contains(string(refused), "is changing vsphere://localhost") {
		t.Errorf("a second plimsoll: status %d\n%s", other.ProcessState.ExitCode(), refused)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	v.meanwhile(func() { _ = c.Wait() })
	if got := c.ProcessState.ExitCode(); got != cli.ExitVerdict || !strings.Contains(out.String(), "Stopped: interrupted") || !strings.Contains(complaint.String(), "stopping: a running change") {
		t.Errorf("status %d\n%s%s", got, out.String(), complaint.String())
	}
	name := v.journal(`"stopped":"interrupted"`)
	v.meanwhile(func() { v.run(0, "undo", name) })
	if after := v.layout(); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("after the undo the VMs are %q, before %q", after, before)
	}
}
