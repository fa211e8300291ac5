package libvirt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/effort"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/initramfs"
	"plimsoll/internal/guest/kernel"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
	"plimsoll/internal/live/livetest"
)

// lab is three hosts with a libvirt daemon each, all on this machine.
type lab struct {
	daemons map[string]*libvirttest.Daemon
	file    string
}

var hosts = []string{"alpha", "beta", "gamma"}

// newLab starts the hosts. The list sets their capacity: two cores of 1000 MHz.
func newLab(t *testing.T) lab {
	t.Helper()
	daemons := libvirttest.Hosts(t, hosts...)
	l := lab{map[string]*libvirttest.Daemon{}, ""}
	var text strings.Builder
	text.WriteString("cluster: lab\npoll: 1s\ndefaults: {hosts: {sockets: 1, cores: 2, threads: 1, mhz: 1000, memory: 1GiB}}\n")
	text.WriteString("migration: {emulated-live: true}\nhosts:\n") // which does not harm burners
	for i, d := range daemons {
		l.daemons[hosts[i]] = d
		fmt.Fprintf(&text, "- {name: %s, uri: \"%s\", migration: tcp://127.0.0.1}\n", hosts[i], d.URI("qemu", "/session"))
	}
	text.WriteString("rules:\n- {name: pair, kind: apart, must: true, vms: [burner-1, burner-2, comes-later]}\n")
	l.file = filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(l.file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.clear(t) })
	return l
}

func (l lab) dial(t testing.TB, host string) *libvirt.Conn {
	t.Helper()
	c, err := libvirt.Dial(context.Background(), l.daemons[host].URI("qemu", "/session"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clear destroys all VMs, which takes seconds for each.
func (l lab) clear(t testing.TB) {
	var all sync.WaitGroup
	defer all.Wait()
	for _, host := range hosts {
		c := l.dial(t, host)
		all.Go(func() {
			defer c.Close()
			domains, err := c.Domains(context.Background())
			if err != nil {
				t.Error(err)
			}
			for _, d := range domains {
				if d.ID >= 0 {
					err := c.Destroy(context.Background(), d)
					if state, failed := c.State(context.Background(), d); err != nil && !libvirt.Missing(err) && (failed != nil || state.On()) { // it may have ended meanwhile
						t.Error(err)
					}
				}
				if err := c.Undefine(context.Background(), d); err != nil && !libvirt.Missing(err) {
					t.Error(err)
				}
			}
		})
	}
}

// start defines and starts burners on a host, all at the same time.
func (l lab) start(t testing.TB, host string, burners ...libvirttest.Burner) {
	t.Helper()
	var all sync.WaitGroup
	var domains []string
	for _, b := range burners { // before any starts: those of equal load have a file in common
		domains = append(domains, b.Domain(t, l.daemons["alpha"].Folder))
	}
	failed := make([]error, len(burners))
	for i, domain := range domains {
		c := l.dial(t, host)
		all.Go(func() {
			defer c.Close()
			d, err := c.DefineXML(t.Context(), domain, 0)
			text := ""
			if err == nil {
				text, err = c.XML(t.Context(), d)
			}
			if err == nil {
				_, err = c.CreateXML(t.Context(), text, 0) // which starts what is defined
			}
			failed[i] = err
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
}

func (l lab) open(t testing.TB) live.Connection {
	t.Helper()
	at, err := live.ParseAddress("libvirt://" + l.file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Kind().Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var errEnough = errors.New("enough")

// measured is the cluster after the demand of all running VMs was sampled a number of times.
func measured(t *testing.T, c live.Connection, samples int64) *cluster.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var last live.Step
	err := c.Source.Watch(ctx, func(s live.Step) error {
		last = s
		for i := range s.Cluster.VMs {
			if v := &s.Cluster.VMs[i]; v.Host != cluster.Nowhere && v.Demand.CPU.Count < samples {
				return nil
			}
		}
		return errEnough
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%v; last step %+v", err, last.Cluster)
	}
	return last.Cluster
}

// loads are the utilizations of the hosts.
func loads(c *cluster.Cluster) []float64 {
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	out := make([]float64, len(c.Hosts))
	for h := range c.Hosts {
		out[h] = float64(l.Demand(cluster.HostID(h)).CPU) / float64(c.Hosts[h].Capacity().CPU)
	}
	return out
}

// labCase is a test that finds the hosts of a lab without VMs. One that takes long is a deep one.
type labCase struct {
	name string
	test func(t *testing.T, l lab)
	deep bool
}

// Those that measure loads have hosts of their own, beside those that mostly wait. Only deep ones have guests that need a CPU for long.
func TestLibvirtForReal(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start libvirt daemons")
	}
	t.Parallel()
	for name, cases := range map[string][]labCase{
		"loads": {{name: "conformance", test: conforms}, {"dense", balancesDense, true}, {"mixed", balancesMixed, true}},
		"changes": {
			{name: "a lost daemon", test: losesADaemon}, {"a daemon lost in a move", losesADaemonInAMove, true}, {name: "a daemon that hangs", test: bearsAHang},
			{name: "events", test: tells}, {name: "topologies", test: reshapes}, {name: "topologies that stay", test: refusesToReshape},
			{"a kill in the middle of topologies", outlivesReshapes, true}, {"a topology in Linux", showsLinux, true}, {name: "Linux", test: movesLinux},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if effort.Full() {
				guesttest.Turn(t) // before the daemons start: an unused one exits after ten minutes
			}
			l := newLab(t)
			for i, c := range cases {
				if c.deep && !effort.Full() {
					continue
				}
				if i > 0 {
					l.clear(t)
				}
				t.Run(c.name, func(t *testing.T) { c.test(t, l) })
			}
		})
	}
}

// edited is the lab with an edited list of hosts.
func (l lab) edited(t *testing.T, how func(string) string) lab {
	t.Helper()
	text, err := os.ReadFile(l.file)
	l.file = filepath.Join(t.TempDir(), "other.yaml")
	if err == nil {
		err = os.WriteFile(l.file, []byte(how(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func conforms(t *testing.T, l lab) {
	l.start(t, "alpha", libvirttest.Burner{Name: "burner-1", Load: 20})
	l.start(t, "beta", libvirttest.Burner{Name: "writer", Load: 25, Dirty: true})
	limited := l.edited(t, func(text string) string { return "read-only: true\n" + text })
	c := l.dial(t, "beta")
	_, err := c.DefineXML(t.Context(), libvirttest.Burner{Name: "spare", Load: 5}.Domain(t, l.daemons["alpha"].Folder), 0)
	if err == nil {
		_, err = c.DefineXML(t.Context(), wide(t, l, "wide", 4, ""), 0)
	}
	_ = c.Close()
	if err != nil {
		t.Fatal(err)
	}
	livetest.Run(t, livetest.Subject{Open: l.open, Limited: limited.open, Off: "spare", Deaf: true, Patience: time.Minute})
	told(t, l)
	one, other := l.open(t), limited.open(t)
	if !slices.Equal(one.Identity, other.Identity) || len(one.Identity) != len(hosts) || strings.Contains(one.Identity[0], "uri") {
		t.Errorf("two lists of the same hosts are %q and %q", one.Identity, other.Identity)
	}
	if err := errors.Join(one.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}

// told: a guest's rate of dirtied memory is reported.
func told(t *testing.T, l lab) {
	c := l.open(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := c.Source.Watch(ctx, func(s live.Step) error {
		for _, v := range s.Cluster.VMs {
			if v.Name == "writer" && v.Demand.Dirty > 1<<20 && v.Demand.Consumed > 1<<20 {
				return errEnough
			}
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Errorf("no dirty rate of a guest that writes to 8 MiB: %v", err)
	}
}

// balanceOnce applies the plan of one round, and returns the number of moves.
func balanceOnce(t *testing.T, c live.Connection, now *cluster.Cluster) int {
	t.Helper()
	x := cluster.NewIndex(now)
	plan := balance.Round(cluster.NewLayout(now, x), x, advice.Options{})
	var changes []apply.Change
	for i, m := range plan.Moves {
		changes = append(changes, apply.Change{Number: i + 1, Action: live.Move, Step: m.Number, VM: now.VMs[m.VM].Name, From: now.Hosts[m.From].Name, To: now.Hosts[m.To].Name})
	}
	a := apply.Applier{Connection: c, Journal: filepath.Join(t.TempDir(), "journal.jsonl"), Address: "libvirt:///lab", Parallel: 2, Progress: func(p apply.Progress) {
		if p.Ended != nil {
			t.Logf("%s: %s in %.1f s", p.Change, p.Ended.What, p.Ended.Seconds)
		}
	}}
	r, err := a.Apply(t.Context(), apply.Plan{Seen: now, Changes: changes})
	if err != nil || r.Stopped != "" {
		t.Fatalf("%+v, %v", r, err)
	}
	return len(changes)
}

// balanced checks that the measured utilizations differ by at most spread.
func balanced(t *testing.T, c live.Connection, spread float64) []float64 {
	t.Helper()
	// The plan was made from demand on the former hosts. A new connection measures it on the
	// new ones.
	after := loads(measured(t, c, 3))
	t.Logf("loads after: %.2f", after)
	if slices.Max(after)-slices.Min(after) > spread || slices.Max(after) > 1.1 {
		t.Errorf("loads after the moves: %.2f", after)
	}
	return after
}

func sum(list []float64) (all float64) {
	for _, x := range list {
		all += x
	}
	return all
}

// balancesDense: all VMs on one of three hosts, with demand of more than twice its capacity.
func balancesDense(t *testing.T, l lab) {
	var burners []libvirttest.Burner
	for i := range 9 {
		burners = append(burners, libvirttest.Burner{Name: fmt.Sprintf("burner-%d", i+1), Load: 50})
	}
	l.start(t, "alpha", burners...)
	c := l.open(t)
	now := measured(t, c, 3)
	before := loads(now)
	t.Logf("loads before: %.2f", before)
	if before[0] < 1.6 || before[1] != 0 || before[2] != 0 {
		t.Errorf("loads before the moves: %.2f", before)
	}
	if n := balanceOnce(t, c, now); n != 6 {
		t.Errorf("%d moves, want 6: three VMs on each host", n)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	again := l.open(t)
	defer again.Close()
	// Demand does not depend on the capacity of the host.
	if after := balanced(t, again, 0.25); sum(after) < sum(before)*2/3 || sum(after) > sum(before)*3/2 {
		t.Errorf("loads before %.2f and after %.2f the moves are not of the same demand", before, after)
	}
	end := measured(t, again, 1)
	on := map[string]string{}
	for i := range end.VMs {
		on[end.VMs[i].Name] = end.Hosts[end.VMs[i].Host].Name
	}
	if on["burner-1"] == on["burner-2"] {
		t.Error("the rule pair is broken")
	}
}

// balancesMixed is a case without tuning: VMs of different demand on two of the hosts.
func balancesMixed(t *testing.T, l lab) {
	var burners [2][]libvirttest.Burner
	for i, load := range []int{100, 90, 70, 40, 20, 10} {
		burners[i%2] = append(burners[i%2], libvirttest.Burner{Name: fmt.Sprintf("mixed-%d", i+1), Load: load})
	}
	l.start(t, "alpha", burners[0]...)
	l.start(t, "beta", append(burners[1], libvirttest.Burner{Name: "mixed-7", Load: 100})...)
	c := l.open(t)
	now := measured(t, c, 3)
	before := loads(now)
	t.Logf("loads before: %.2f", before)
	if balanceOnce(t, c, now) == 0 {
		t.Error("no moves")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	again := l.open(t)
	defer again.Close()
	after := loads(measured(t, again, 3))
	t.Logf("loads after: %.2f", after)
	if slices.Max(after) >= slices.Max(before) || slices.Max(after) > 1.1 {
		t.Errorf("loads before the moves %.2f, after %.2f", before, after)
	}
}

// losesADaemon: VMs of a daemon that exits are kept, and its return is reported.
func losesADaemon(t *testing.T, l lab) {
	l.start(t, "alpha", libvirttest.Burner{Name: "web", Load: 10})
	c := l.open(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var lost, back bool
	err := c.Source.Watch(ctx, func(s live.Step) error {
		switch kinds := kindsOf(s.Events); {
		case !lost && len(kinds) == 0:
			l.daemons["alpha"].Stop()
		case slices.Contains(kinds, live.ControlLost):
			lost = true
			v, h := s.Cluster.VMs[0], s.Cluster.Hosts[0]
			if v.Name != "web" || v.Host != 0 || !v.Pinned || h.State != cluster.Quarantined {
				t.Errorf("without its daemon: VM %+v, host %+v", v, h)
			}
			x := cluster.NewIndex(s.Cluster)
			if p := balance.Round(cluster.NewLayout(s.Cluster, x), x, advice.Options{}); len(p.Moves)+len(p.Stranded) > 0 {
				t.Errorf("the loss of a daemon leads to %+v, %+v", p.Moves, p.Stranded)
			}
			if err := c.Hand.Move(ctx, "web", "beta"); err == nil || !strings.Contains(err.Error(), "does not answer") {
				t.Errorf("a move off a host whose daemon does not answer: %v", err)
			}
			if err := c.Hand.Maintain(ctx, "alpha", true); err == nil {
				t.Error("a host whose daemon does not answer enters maintenance")
			}
			l.daemons["alpha"].Run(t)
		case slices.Contains(kinds, live.ControlBack):
			back = true
			if v := s.Cluster.VMs[0]; v.Name != "web" || v.Host != 0 || v.Pinned || s.Cluster.Hosts[0].State != cluster.Connected {
				t.Errorf("after its return: VM %+v, host %+v", v, s.Cluster.Hosts[0])
			}
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || !lost || !back {
		t.Errorf("%v; lost: %v, back: %v", err, lost, back)
	}
}

// bearsAHang: a daemon that does not respond is lost after a timeout, and the others are still
// read.
func bearsAHang(t *testing.T, l lab) {
	l.start(t, "alpha", libvirttest.Burner{Name: "web", Load: 10})
	l.start(t, "beta", libvirttest.Burner{Name: "other", Load: 10})
	c := l.open(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	lost, samples := 0, int64(0)
	err := c.Source.Watch(ctx, func(s live.Step) error {
		now := s.Cluster.VMs[0].Demand.CPU.Count // of other
		switch kinds := kindsOf(s.Events); {
		case samples == 0:
			samples = now
			l.daemons["alpha"].Hang(t, true)
		case slices.Contains(kinds, live.ControlLost):
			lost, samples = 1, now
		case slices.Contains(kinds, live.ControlBack):
			return errEnough
		case lost > 0:
			if lost++; lost == 4 {
				if now < samples+2 || s.Cluster.VMs[1].Host != 0 {
					t.Errorf("%d samples of a VM elsewhere, %d before; the VM without a daemon is %+v", now, samples, s.Cluster.VMs[1])
				}
				l.daemons["alpha"].Hang(t, false)
			}
			if lost > 4 {
				l.daemons["alpha"].Revive(t)
			}
		}
		return nil
	})
	if !errors.Is(err, errEnough) || lost < 4 {
		t.Errorf("%v after %d steps without the daemon", err, lost)
	}
}

func kindsOf(events []live.Event) (kinds []live.EventKind) {
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// tells: changes by others are reported as events.
func tells(t *testing.T, l lab) {
	c := l.open(t)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told []string
	err := c.Source.Watch(ctx, func(s live.Step) error {
		if told == nil {
			told = []string{}
			l.start(t, "gamma", libvirttest.Burner{Name: "new", Load: 10})
			return nil
		}
		for _, e := range s.Events {
			told = append(told, fmt.Sprintf("%s %s %s %s", e.Kind, e.VM, e.Host, e.Text))
			switch e.Kind {
			case live.VMStarted:
				other := l.dial(t, "gamma")
				d, err := other.LookupName(ctx, "new")
				if err == nil {
					err = other.Destroy(ctx, d)
				}
				if err == nil {
					err = other.Undefine(ctx, d)
				}
				_ = other.Close()
				if err != nil {
					t.Error(err)
				}
			case live.VMRemoved:
				return errEnough
			}
		}
		return nil
	})
	want := []string{"vm-added new gamma ", "vm-started new gamma booted", "vm-stopped new gamma destroyed", "vm-removed new gamma "}
	if !errors.Is(err, errEnough) || !slices.Equal(told, want) {
		t.Errorf("%v\ntold %q\nwant %q", err, told, want)
	}
}

// linux is the domain of a Linux guest with plimsoll's agent in it, on the first host.
func (l lab) linux(t *testing.T, cpus int, memory int64) string {
	t.Helper()
	folder, err := kernel.Folder()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.Find(folder)
	if err != nil {
		t.Skipf("no Linux guest: %v", err)
	}
	home := l.daemons["alpha"].Folder
	archive := filepath.Join(home, "initramfs")
	f, err := os.Create(archive)
	if err == nil {
		err = errors.Join(initramfs.Build(f, initramfs.Spec{Init: guesttest.Agent(t), Kernel: k, Modules: []string{"channel"}}), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := hardware.OnThisHost(hardware.Wiring{Accelerator: hardware.TCG, Dir: home, Kernel: k.Image, Initramfs: archive})
	if err != nil {
		t.Fatal(err)
	}
	text, err := hardware.Shape{Name: "linux", CPU: hardware.CPU{Count: cpus}, Memory: hardware.Memory{Size: memory}}.Domain(w)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// movesLinux: a Linux guest with plimsoll's agent continues to compute on its new host.
func movesLinux(t *testing.T, l lab) {
	var uptimes []float64
	l = l.edited(t, func(text string) string { return strings.Replace(text, "migration: {emulated-live: true}\n", "", 1) })
	defer l.logs(t, "linux")
	text := l.linux(t, 1, 128<<20)
	for i, host := range []string{"alpha", "beta", "gamma"} {
		on := l.dial(t, host)
		defer on.Close()
		var err error
		if i == 0 {
			_, err = on.CreateXML(t.Context(), text, 0)
		} else {
			c := l.open(t)
			err = errors.Join(c.Hand.Move(t.Context(), "linux", host), c.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		uptimes = append(uptimes, uptime(t, on))
	}
	t.Logf("uptimes on its hosts: %.1f", uptimes)
	if !slices.IsSorted(uptimes) || uptimes[0] == uptimes[2] {
		t.Errorf("uptimes on its hosts: %.1f: it did not go on", uptimes)
	}
}

// logs prints the console of a guest of this test alone, and its hypervisors' logs, if the
// test has failed.
func (l lab) logs(t *testing.T, vm string) {
	if !t.Failed() {
		return
	}
	for host, d := range l.daemons {
		for _, name := range []string{hardware.ConsoleFile(d.Folder), filepath.Join(d.Folder, "cache/libvirt/qemu/log", vm+".log")} {
			if text, err := os.ReadFile(name); err == nil {
				t.Logf("%s of %s:\n%s", filepath.Base(name), host, text)
			}
		}
	}
}

// uptime queries the agent in the guest.
func uptime(t *testing.T, on *libvirt.Conn) (seconds float64) {
	t.Helper()
	if _, err := fmt.Sscan(inLinux(t, on, "/proc/uptime")[0], &seconds); err != nil {
		t.Fatal(err)
	}
	return seconds
}

// inLinux reads files through the agent in the guest.
func inLinux(t *testing.T, on *libvirt.Conn, files ...string) (texts []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	d, err := on.LookupName(ctx, "linux")
	if err != nil {
		t.Fatal(err)
	}
	stream, err := on.OpenChannel(ctx, d, hardware.Port)
	if err != nil {
		t.Fatal(err)
	}
	m, err := remote.Connect(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, file := range files {
		text, err := m.ReadFile(ctx, file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	return texts
}
