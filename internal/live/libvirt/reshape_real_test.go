package libvirt

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/apply"
	"plimsoll/internal/live/reshape"
)

// define defines a domain on a host. It returns the definition after the daemon has read its
// own and sorted the devices that it added.
func (l lab) define(t testing.TB, host, text string) (name, kept string) {
	t.Helper()
	c := l.dial(t, host)
	defer c.Close()
	d, err := c.DefineXML(t.Context(), text, libvirt.Validate)
	for range 2 {
		if err == nil {
			kept, err = libvirt.Instance{Conn: c, Domain: d}.Whole(t.Context())
		}
		if err == nil {
			_, err = c.DefineXML(t.Context(), kept, 0)
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return d.Name, kept
}

// definitions are those of a host, by name, with secrets.
func (l lab) definitions(t testing.TB, host string) map[string]string {
	t.Helper()
	c := l.dial(t, host)
	defer c.Close()
	list, err := c.Domains(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, d := range list {
		if out[d.Name], err = (libvirt.Instance{Conn: c, Domain: d}).Whole(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// wide is a burner with some vCPUs and 64 MiB.
func wide(t testing.TB, l lab, name string, vcpus int, more string) string {
	text := libvirttest.Burner{Name: name, Load: 10}.Domain(t, l.daemons["alpha"].Folder)
	text = strings.Replace(text, "<memory unit='MiB'>16<", "<memory unit='MiB'>64<", 1)
	return strings.Replace(text, "<vcpu>1</vcpu>", fmt.Sprintf("<vcpu>%d</vcpu>%s", vcpus, more), 1)
}

// large is the lab with hosts of four nodes of two cores.
func (l lab) large(t *testing.T) lab {
	return l.edited(t, func(text string) string {
		return strings.NewReplacer("sockets: 1", "sockets: 4", "memory: 1GiB", "memory: 16GiB").Replace(text)
	})
}

// changes are the advised changes of the VMs.
func changes(t *testing.T, c live.Connection) (*cluster.Cluster, *reshape.Report) {
	t.Helper()
	now := measured(t, c, 0)
	names := []string{}
	for i := range now.VMs {
		names = append(names, now.VMs[i].Name)
	}
	shapes, err := c.Shaper.Shapes(t.Context(), names)
	if err != nil || len(shapes) != len(names) {
		t.Fatalf("%d shapes of %d VMs: %v", len(shapes), len(names), err)
	}
	return now, reshape.New(topology.Scan(now, topology.Options{VNUMAMin: 1}), shapes)
}

// reshapes: VMs that are off get the sockets and nodes of the hosts, also in definitions by
// others. A guest starts with them. The undo restores the former ones.
func reshapes(t *testing.T, l lab) {
	l = l.large(t)
	before := map[string]string{}
	add := func(text string) {
		name, kept := l.define(t, "alpha", text)
		before[name] = kept
	}
	for _, text := range foreign(t) {
		add(text)
	}
	if !strings.Contains(before["desktop"], "geheim") {
		t.Fatalf("the daemon keeps no password:\n%s", before["desktop"])
	}
	add(wide(t, l, "wide", 4, ""))
	add(wide(t, l, "pinned", 4, "<cputune><vcpupin vcpu='0' cpuset='0'/></cputune>"))
	add(wide(t, l, "runs", 4, ""))
	l.begin(t, "alpha", "runs")
	c := l.open(t)
	defer c.Close()
	now, plan := changes(t, c)
	want := map[string]string{
		"desktop": "vcpus=4 cores-per-socket=2 cores-per-node=2", "wide": "vcpus=4 cores-per-socket=2 cores-per-node=2",
		"plain": "vcpus=6 cores-per-socket=2 cores-per-node=2", "appliance": "vcpus=8 cores-per-socket=2 cores-per-node=2",
	}
	possible := plan.Possible()
	for _, p := range possible {
		if p.To != want[p.VM] {
			t.Errorf("%s is to get %q, want %q", p.VM, p.To, want[p.VM])
		}
	}
	busy := slices.IndexFunc(plan.Changes, func(p reshape.Proposal) bool { return p.VM == "runs" && p.Busy == "it runs" })
	kept := slices.IndexFunc(plan.Kept, func(k reshape.Unchanged) bool {
		return k.VM == "pinned" && strings.Contains(k.Why, "vcpupin of cputune")
	})
	if len(possible) != len(want) || busy < 0 || kept < 0 {
		t.Fatalf("%+v", plan)
	}
	a := apply.Applier{Connection: c, Journal: filepath.Join(t.TempDir(), "journal.jsonl"), Address: "libvirt:///lab"}
	if r, err := a.Apply(t.Context(), apply.Plan{Seen: now, Changes: possible}); err != nil || r.Made() != len(possible) {
		t.Fatalf("%+v, %v", r, err)
	}
	after := l.definitions(t, "alpha")
	for name, text := range before {
		changed := slices.ContainsFunc(possible, func(p apply.Change) bool { return p.VM == name })
		if bare(after[name]) != bare(text) || (after[name] != text) != changed {
			t.Errorf("%s (to be changed: %v) was\n%s\nand is\n%s", name, changed, text, after[name])
		}
	}
	l.begin(t, "alpha", "wide")
	l.commandLine(t, "wide", "-smp 4,sockets=2,dies=1,cores=2,threads=1", "node,nodeid=0,cpus=0-1,", "node,nodeid=1,cpus=2-3,")
	l.end(t, "alpha", "wide")
	retitle := func(text string) string { return strings.Replace(text, "Somebody", "Somebody else", 1) }
	l.define(t, "alpha", retitle(after["desktop"])) // changes by others stay
	before["desktop"] = retitle(before["desktop"])
	l.takesBack(t, a, before)
}

// takesBack undoes a journal, and checks that all definitions are restored.
func (l lab) takesBack(t *testing.T, a apply.Applier, before map[string]string) {
	t.Helper()
	j, err := apply.ReadJournal(a.Journal)
	if err != nil {
		t.Fatal(err)
	}
	a.Journal += ".undo"
	if r, err := a.Undo(t.Context(), j); err != nil || len(r.Left) > 0 || r.Stopped != "" {
		t.Fatalf("undo: %+v, %v", r, err)
	}
	for name, text := range l.definitions(t, "alpha") {
		if text != before[name] {
			t.Errorf("%s was\n%s\nand is after the undo\n%s", name, before[name], text)
		}
	}
}

// begin starts a defined VM.
func (l lab) begin(t testing.TB, host, name string) {
	t.Helper()
	c := l.dial(t, host)
	defer c.Close()
	d, err := c.LookupName(t.Context(), name)
	if err == nil {
		err = libvirt.Instance{Conn: c, Domain: d}.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// end powers a VM off.
func (l lab) end(t testing.TB, host, name string) {
	t.Helper()
	c := l.dial(t, host)
	defer c.Close()
	d, err := c.LookupName(t.Context(), name)
	if err == nil {
		err = c.Destroy(t.Context(), d)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// commandLine checks for words in the arguments of a VM's QEMU.
func (l lab) commandLine(t *testing.T, name string, want ...string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range lines {
		text, err := os.ReadFile(file)
		line := strings.ReplaceAll(string(text), "\x00", " ")
		if err != nil || !strings.Contains(line, "guest="+name+",") || !strings.Contains(line, l.daemons["alpha"].Folder) {
			continue
		}
		for _, words := range want {
			if !strings.Contains(line, words) {
				t.Errorf("QEMU has no %q: %s", words, line)
			}
		}
		return
	}
	t.Errorf("no QEMU of %s runs", name)
}

// refusesToReshape: a VM that must not be changed is not, and the reason is reported.
func refusesToReshape(t *testing.T, l lab) {
	to := topology.Setting{VCPUs: 4, CoresPerSocket: 2, CoresPerNode: 2}
	is := topology.Setting{VCPUs: 4}
	for _, name := range []string{"twice", "gone", "saved", "edited"} {
		l.define(t, "alpha", wide(t, l, name, 4, ""))
	}
	l.define(t, "beta", strings.Replace(l.definitions(t, "alpha")["twice"], "<vcpu", "<title>other</title><vcpu", 1))
	transient := l.dial(t, "alpha")
	defer transient.Close()
	if _, err := transient.CreateXML(t.Context(), wide(t, l, "transient", 4, ""), 0); err != nil {
		t.Fatal(err)
	}
	c := l.open(t)
	defer c.Close()
	l.begin(t, "alpha", "saved")
	l.instance(t, "alpha", "saved", libvirt.Instance.Save)
	l.instance(t, "alpha", "gone", libvirt.Instance.Remove)
	l.define(t, "alpha", strings.Replace(l.definitions(t, "alpha")["edited"], "</cpu>", "<topology sockets='1' cores='4' threads='1'/></cpu>", 1))
	before := l.definitions(t, "alpha")
	for name, want := range map[string]string{
		"twice": "it is defined on several hosts: alpha, beta", "gone": "no such VM", "saved": "its memory is saved", "edited": "somebody changed it", "transient": "it is transient",
	} {
		if err := c.Shaper.Reshape(t.Context(), name, is, to); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, other := range []topology.Setting{{VCPUs: 8, CoresPerSocket: 4}, {VCPUs: 4, CoresPerSocket: 3}, {VCPUs: 4, CoresPerSocket: 2, CoresPerNode: 3}, {VCPUs: 4, CoresPerSocket: 4, HotAdd: true}} {
		if err := c.Shaper.Reshape(t.Context(), "edited", topology.Setting{VCPUs: 4, CoresPerSocket: 4}, other); err == nil || !strings.Contains(err.Error(), "no setting") {
			t.Errorf("%q: %v", other, err)
		}
	}
	l.daemons["alpha"].Stop()
	lost, err := c.Shaper.Shapes(t.Context(), []string{"edited", "twice"})
	if err != nil || !strings.Contains(lost["edited"].Busy, "the daemon of alpha does not answer") || lost["edited"].String() != "vcpus=4 cores-per-socket=4 cores-per-node=auto" {
		t.Errorf("without its daemon: %+v, %v", lost, err)
	}
	if err := c.Shaper.Reshape(t.Context(), "edited", topology.Setting{VCPUs: 4, CoresPerSocket: 4}, to); err == nil {
		t.Error("a VM without its daemon was changed")
	}
	l.daemons["alpha"].Run(t)
	for name, text := range l.definitions(t, "alpha") {
		if name != "transient" && text != before[name] {
			t.Errorf("%s was\n%s\nand is\n%s", name, before[name], text)
		}
	}
	l.instance(t, "alpha", "saved", libvirt.Instance.Remove)
}

// instance calls a function with a domain.
func (l lab) instance(t testing.TB, host, name string, do func(libvirt.Instance, context.Context) error) {
	t.Helper()
	c := l.dial(t, host)
	defer c.Close()
	d, err := c.LookupName(t.Context(), name)
	if err == nil {
		err = do(libvirt.Instance{Conn: c, Domain: d}, t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// outlivesReshapes: after plimsoll was killed during its changes, with a hung daemon, its
// journal undoes them all, whether the daemon applied the last change or not.
func outlivesReshapes(t *testing.T, l lab) {
	l = l.large(t)
	before := map[string]string{}
	for i := range 8 {
		name, kept := l.define(t, "alpha", wide(t, l, fmt.Sprintf("wide-%d", i), 4, ""))
		before[name] = kept
	}
	a := apply.Applier{Journal: filepath.Join(t.TempDir(), "journal.jsonl"), Address: "libvirt:///lab", Patience: 6 * time.Second}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), program, "-test.run=^TestReshapesUntilItIsKilled$")
	c.Env = append(os.Environ(), "RESHAPE_LIST="+l.file, "RESHAPE_JOURNAL="+a.Journal)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	told, lines := 0, bufio.NewScanner(out)
	for told < 4 && lines.Scan() {
		if lines.Text() == begun {
			told++
		}
	}
	l.daemons["alpha"].Hang(t, true)
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // killed
	l.daemons["alpha"].Hang(t, false)
	changed := 0
	for name, text := range l.definitions(t, "alpha") {
		if text != before[name] {
			changed++
		}
	}
	t.Logf("%d of 8 VMs were changed before the kill", changed)
	if told < 4 || changed < 3 || changed == 8 {
		t.Errorf("%d changes were begun, and %d of 8 VMs were changed", told, changed)
	}
	a.Connection = l.open(t)
	l.takesBack(t, a, before)
	if err := a.Connection.Close(); err != nil {
		t.Error(err)
	}
}

// showsLinux: a Linux guest sees the sockets and NUMA nodes of its definition.
func showsLinux(t *testing.T, l lab) {
	defer l.logs(t, "linux")
	l.define(t, "alpha", l.linux(t, 4, 256<<20))
	c := l.open(t)
	defer c.Close()
	now, err := c.Shaper.Shapes(t.Context(), []string{"linux"})
	if err == nil {
		err = c.Shaper.Reshape(t.Context(), "linux", now["linux"].Setting, topology.Setting{VCPUs: 4, CoresPerSocket: 2, CoresPerNode: 2})
	}
	if was := now["linux"]; err != nil || was.CoresPerSocket == 2 || was.CoresPerNode == 2 {
		t.Fatalf("%+v: %v", now, err)
	}
	l.begin(t, "alpha", "linux")
	on := l.dial(t, "alpha")
	defer on.Close()
	want := map[string]string{
		"/sys/devices/system/node/online": "0-1", "/sys/devices/system/node/node0/cpulist": "0-1", "/sys/devices/system/node/node1/cpulist": "2-3",
		"/sys/devices/system/cpu/cpu1/topology/package_cpus_list": "0-1", "/sys/devices/system/cpu/cpu2/topology/package_cpus_list": "2-3",
	}
	files := slices.Sorted(maps.Keys(want))
	for i, text := range inLinux(t, on, files...) {
		if text != want[files[i]] {
			t.Errorf("the guest has %q in %s, want %q", text, files[i], want[files[i]])
		}
	}
}

// begun is the output of the plimsoll to be killed.
const begun = "a change has begun"

// TestReshapesUntilItIsKilled runs the plimsoll that outlivesReshapes kills.
func TestReshapesUntilItIsKilled(t *testing.T) {
	file, journal := os.Getenv("RESHAPE_LIST"), os.Getenv("RESHAPE_JOURNAL")
	if file == "" {
		t.Skip("a process of another test")
	}
	c := lab{file: file}.open(t)
	now, plan := changes(t, c)
	a := apply.Applier{Connection: c, Journal: journal, Address: "libvirt:///lab"}
	a.Progress = func(p apply.Progress) {
		if p.Ended == nil {
			fmt.Println(begun)
		}
	}
	r, err := a.Apply(t.Context(), apply.Plan{Seen: now, Changes: plan.Possible()})
	t.Errorf("it was not killed: %+v, %v", r, err)
}
