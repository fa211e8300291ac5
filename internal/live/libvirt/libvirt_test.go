package libvirt

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/live"
)

const list = `
cluster: lab
poll: 2s
networks: [front, back]
datastores: [/srv/shared, pool]
migration: {bandwidth: 100MiB/s}
defaults: {hosts: {memory: 64GiB}}
hosts:
- {name: alpha, uri: "qemu:///system?socket=/run/a.sock", cores: 8, nodes: 2, mhz: 2400, networks: [front]}
- {name: beta, uri: "qemu:///system", migration: "tcp://10.0.0.2", datastores: []}
settings: {level: 4}
rules:
- {name: apart, kind: apart, must: true, vms: [db-*]}
- {name: home, kind: on, vms: [web], hosts: [beta]}
`

func parsed(t *testing.T, text string) *file {
	t.Helper()
	f, err := parseFile("lab.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheListOfHosts(t *testing.T) {
	f := parsed(t, list)
	if f.cluster != "lab" || f.poll != 2*time.Second || f.migration.bandwidth != 100 || !f.migration.autoConverge || len(f.hosts) != 2 {
		t.Fatalf("%+v", f)
	}
	said := cluster.Host{Sockets: 2, NodesPerSocket: 1, CoresPerNode: 10, ThreadsPerCore: 2, MHz: 3000, Memory: 1 << 40}
	a, b := f.hosts[0].host(said), f.hosts[1].host(said)
	if a.Name != "alpha" || a.Sockets != 2 || a.NodesPerSocket != 2 || a.CoresPerNode != 4 || a.ThreadsPerCore != 2 || a.MHz != 2400 || a.Memory != 64<<30 ||
		!slices.Equal(a.Networks, []int32{0}) || !slices.Equal(a.Datastores, []int32{0, 1}) {
		t.Errorf("alpha is %+v", a)
	}
	if b.Cores() != 20 || b.MHz != 3000 || len(b.Networks) != 2 || len(b.Datastores) != 0 || f.hosts[1].migration != "tcp://10.0.0.2" {
		t.Errorf("beta is %+v", b)
	}
	c := &cluster.Cluster{Hosts: []cluster.Host{a, b}, VMs: []cluster.VM{{Name: "db-1"}, {Name: "db-2"}}}
	f.policies(c)
	if len(c.Rules) != 1 || c.Rules[0].Name != "apart" || len(c.Rules[0].VMs) != 2 || c.Settings.Level != 4 || !c.Settings.Consumed {
		t.Errorf("rules %+v, settings %+v", c.Rules, c.Settings)
	}
}

func TestBadLists(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "empty",
		"hosts: []":          "lab.yaml:1:8: the list has no hosts",
		"host: []":           `unknown key "host"`,
		"hosts: [{name: a}]": "uri is missing",
		"hosts: [{name: a, uri: 'qemu+ssh://x/system'}]":                                                "only local sockets are supported",
		"hosts: [{name: a, uri: 'qemu:///system'}, {name: a, uri: 'qemu:///system'}]":                   "duplicate name",
		"hosts: [{name: a, uri: 'qemu:///system', migration: 10.0.0.1}]":                                "tcp://10.0.0.2",
		"hosts: [{name: a, uri: 'qemu:///system', cores: 7, nodes: 2}]":                                 "not divisible",
		"hosts: [{name: a, uri: 'qemu:///system', cores: 4, cache: 8}]":                                 "8 cores share a cache",
		"poll: 2h\nhosts: [{name: a, uri: 'qemu:///system'}]":                                           "poll must be from",
		"hosts: [{name: a, uri: 'qemu:///system'}]\nrules: [{name: r, kind: on, vms: [x], hosts: [c]}]": `unknown host "c"`,
		"hosts: [{name: a, uri: 'qemu:///system'}]\nsettings: {spare-hosts: 1}":                         "spare-hosts is 1",
		"networks: [n]\nhosts: [{name: a, uri: 'qemu:///system', networks: [m]}]":                       `unknown network "m"`,
	} {
		if _, err := parseFile("lab.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The example file of the documentation is valid.
func TestTheDocumentedList(t *testing.T) {
	text, err := os.ReadFile("../../../docs/cluster/live-libvirt.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```yaml\n")
	example, _, found := strings.Cut(example, "```")
	if f := parsed(t, example); !found || len(f.hosts) != 3 || f.hosts[2].host(cluster.Host{}).MostVMs != 40 || f.hosts[0].host(cluster.Host{}).Overhead.Memory != 4<<30 {
		t.Errorf("%+v", f)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"libvirt:///etc/lab.yaml": "/etc/lab.yaml", "libvirt://lab.yaml": "lab.yaml", "libvirt://clusters/lab.yaml": "clusters/lab.yaml",
	} {
		at, err := live.ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		if name, err := fileOf(at); err != nil || name != want {
			t.Errorf("%s is %q, %v", text, name, err)
		}
	}
	for text, want := range map[string]string{
		"libvirt:///": "names a file", "libvirt://root@host/lab.yaml": "users belong", "libvirt:///no/such.yaml": "no such file", "libvirt:///x?hosts=a": "unknown parameter",
	} {
		at, err := live.ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Kind().Open(t.Context(), at)
		if mistake := new(live.Mistake); err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &mistake) {
			t.Errorf("%s: %v, want the mistake %q", text, err, want)
		}
	}
}

const domainText = `<domain><name>web</name><memory unit='KiB'>4194304</memory><vcpu current='2'>4</vcpu>
<cputune><shares>4096</shares></cputune><cpu><topology sockets='1' cores='2' threads='1'/></cpu><devices>
<disk type='file' device='disk'><source file='/srv/shared/web.qcow2'/></disk>
<disk type='file' device='cdrom'/><disk type='network'><source protocol='rbd' name='x'/></disk>
<interface type='bridge'><source bridge='back'/></interface><interface type='user'/>%</devices></domain>`

func TestShapes(t *testing.T) {
	f := parsed(t, list)
	s, err := f.shapeOf(strings.Replace(domainText, "%", "", 1))
	if err != nil || s.vcpus != 2 || s.coresPerSocket != 2 || s.memory != 4<<30 || s.tied != "" ||
		!slices.Equal(s.networks, []int32{1}) || !slices.Equal(s.stores, []int32{0}) || s.vm().CPU.Shares != 4096 || s.vm().Pinned {
		t.Errorf("%+v, %v", s, err)
	}
	for device, want := range map[string]string{
		`<disk type='file'><source file='/srv/sharedness/a'/></disk>`: "in no datastore", `<disk type='block'><source dev='/dev/sdb'/></disk>`: "in no datastore",
		`<filesystem type='mount'/>`: "a folder", `<interface type='hostdev'/>`: "a network device",
		`<hostdev mode='subsystem' type='pci'/>`: "a device", `<disk type='volume'><source pool='pool' volume='v'/></disk>`: "",
	} {
		s, err := f.shapeOf(strings.Replace(domainText, "%", device, 1))
		if err != nil || !strings.Contains(s.tied, want) || s.vm().Pinned != (want != "") {
			t.Errorf("%s: %+v, %v", device, s, err)
		}
	}
	for text, want := range map[string]bool{
		"<os><nvram>/var/lib/libvirt/qemu/nvram/web_VARS.fd</nvram></os>": true, "<os><nvram>/srv/shared/web.fd</nvram></os>": false,
		"<devices><tpm model='tpm-crb'><backend type='emulator'/></tpm></devices>": true, "": false,
	} {
		s, err := f.shapeOf("<domain><memory>4096</memory><vcpu>1</vcpu>" + text + "</domain>")
		d := domain{Domain: libvirt.Domain{ID: -1}, state: libvirt.Off, shape: s}
		if err != nil || d.tied() != want {
			t.Errorf("%s: while it is off, it is tied: %t, %v", text, d.tied(), err)
		}
		if d.ID, d.state = 1, libvirt.Running; d.tied() {
			t.Errorf("%s: it cannot migrate", text)
		}
	}
	for cache, want := range map[string]bool{"<driver cache='none'/>": true, "<driver cache='directsync'/>": true, "<driver cache='writeback'/>": false, "": false, "<readonly/>": true} {
		s, err := f.shapeOf(fmt.Sprintf("<domain><memory>4096</memory><vcpu>1</vcpu><devices><disk><source file='/srv/shared/a'/>%s</disk></devices></domain>", cache))
		if err != nil || s.direct != want {
			t.Errorf("a disk with %q: %+v, %v", cache, s, err)
		}
	}
	s, err = f.shapeOf(`<domain><memory unit='GiB'>1</memory><vcpu>1</vcpu><memoryBacking><locked/></memoryBacking></domain>`)
	if err != nil || s.vm().Mem.Reservation != 1<<30 {
		t.Errorf("locked memory: %+v, %v", s, err)
	}
	for _, text := range []string{"", "<domain>", "<domain/>", "<domain><memory>-1</memory><vcpu>1</vcpu></domain>", "<domain><memory>9223372036854775807</memory><vcpu>1</vcpu></domain>",
		"<domain><memory unit='pages'>1</memory><vcpu>1</vcpu></domain>", "<domain><memory>1</memory><vcpu>99999</vcpu></domain>"} {
		if s, err := f.shapeOf(text); err == nil {
			t.Errorf("%s is %+v", text, s)
		}
	}
}

func TestTopologies(t *testing.T) {
	cell := func(sockets, cores, threads, first int) (c libvirt.Cell) {
		for s := range sockets {
			for core := range cores {
				for range threads {
					c.CPUs = append(c.CPUs, libvirt.CellCPU{Socket: first + s, Core: core})
				}
			}
		}
		return c
	}
	usual := cluster.Host{Sockets: 1, NodesPerSocket: 1, CoresPerNode: 32, ThreadsPerCore: 1}
	for name, tc := range map[string]struct {
		cells []libvirt.Cell
		want  [4]int
	}{
		"a node each":      {[]libvirt.Cell{cell(1, 8, 2, 0), cell(1, 8, 2, 1)}, [4]int{2, 1, 8, 2}},
		"nodes of sockets": {[]libvirt.Cell{cell(1, 4, 2, 0), cell(1, 4, 2, 0), cell(1, 4, 2, 1), cell(1, 4, 2, 1)}, [4]int{2, 2, 4, 2}},
		"interleaved":      {[]libvirt.Cell{cell(2, 8, 1, 0)}, [4]int{2, 1, 8, 1}},
		"uneven":           {[]libvirt.Cell{cell(1, 8, 2, 0), cell(1, 6, 2, 1)}, [4]int{1, 1, 32, 1}},
		"none":             {nil, [4]int{1, 1, 32, 1}},
	} {
		h := usual
		setTopology(&h, tc.cells)
		if got := [4]int{h.Sockets, h.NodesPerSocket, h.CoresPerNode, h.ThreadsPerCore}; got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// Caches of cores are distinguished, and dies with equal core numbers. A node with less memory
// than others counts.
func TestCachesAndNodes(t *testing.T) {
	var more libvirt.Capabilities
	for id := range 32 { // two nodes of two dies of four cores of two threads, a cache for each die
		if id%16 == 0 {
			more.Cells = append(more.Cells, libvirt.Cell{Memory: int64(16+id) << 30})
		}
		cell, first := &more.Cells[id/16], id/2*2
		cell.CPUs = append(cell.CPUs, libvirt.CellCPU{ID: id, Socket: id / 16, Core: id / 2 % 4, Siblings: fmt.Sprintf("%d-%d", first, first+1)})
		if id%8 == 0 {
			more.Banks = append(more.Banks, libvirt.Bank{Level: 2, CPUs: fmt.Sprint(id)}, libvirt.Bank{Level: 3, CPUs: fmt.Sprintf("%d-%d", id, id+7)})
		}
	}
	h := cluster.Host{Sockets: 1, NodesPerSocket: 1, CoresPerNode: 32, ThreadsPerCore: 1, Memory: 48 << 30}
	setTopology(&h, more.Cells)
	setCachesAndNodes(&h, more)
	if h.Sockets != 2 || h.CoresPerNode != 8 || h.ThreadsPerCore != 2 || h.CoresPerCache != 4 || h.NodeMemory != 16<<30 {
		t.Errorf("%+v", h)
	}
	f := parsed(t, "hosts:\n- {name: a, uri: 'qemu:///system'}\n- {name: b, uri: 'qemu:///system', cores: 2, memory: 8GiB}\n- {name: c, uri: 'qemu:///system', cache: 2}")
	for i, want := range [][2]int64{{4, 16 << 30}, {0, 0}, {2, 16 << 30}} {
		if got := f.hosts[i].host(h); int64(got.CoresPerCache) != want[0] || got.NodeMemory != want[1] {
			t.Errorf("%s: %+v", f.hosts[i].name, got)
		}
	}
	more.Cells[0].Memory, more.Banks = 24<<30, more.Banks[:1]
	h = cluster.Host{Sockets: 2, NodesPerSocket: 1, CoresPerNode: 8, Memory: 50 << 30}
	if setCachesAndNodes(&h, more); h.NodeMemory != 0 || h.CoresPerCache != 1 {
		t.Errorf("nodes that are about equal: %+v", h)
	}
}

func TestMaintenanceIsKept(t *testing.T) {
	f := parsed(t, list)
	f.name = filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(f.name, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		host  string
		enter bool
		want  []string
	}{{"alpha", true, []string{"alpha"}}, {"beta", true, []string{"alpha", "beta"}}, {"beta", true, []string{"alpha", "beta"}}, {"alpha", false, []string{"beta"}}, {"beta", false, nil}, {"beta", false, nil},
		{"#1", true, []string{"#1"}}, {`\\ab`, true, []string{"#1", `\\ab`}}, {`\#`, true, []string{"#1", `\\ab`, `\#`}},
		{"#1", false, []string{`\\ab`, `\#`}}, {`\\ab`, false, []string{`\#`}}, {`\#`, false, nil}} {
		if err := f.mark(step.host, step.enter); err != nil {
			t.Fatal(err)
		}
		marks, err := f.maintained()
		if err != nil || len(marks) != len(step.want) {
			t.Errorf("%+v: %v, %v", step, marks, err)
		}
		for _, host := range step.want {
			if !marks[host] {
				t.Errorf("%+v: %v", step, marks)
			}
		}
	}
	if left, err := filepath.Glob(f.name + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestLoads(t *testing.T) {
	s := newSource(parsed(t, list))
	m := s.members[0]
	m.host = cluster.Host{MHz: 1000}
	d := &domain{Domain: libvirt.Domain{Name: "web", ID: 1}, state: libvirt.Running, shape: shape{vcpus: 2, memory: 1 << 30}}
	begin := time.Now()
	read := func(seconds int, values libvirt.Statistics) *load {
		d.counts.read(values, begin.Add(time.Duration(seconds)*time.Second))
		s.measure(uuid{1}, d, m)
		return s.loads[uuid{1}]
	}
	read(0, libvirt.Statistics{"cpu.time": 5e9, "vcpu.0.time": 2e9, "vcpu.0.delay": 0, "vcpu.1.time": 0, "vcpu.1.delay": 0, "balloon.rss": 1 << 19})
	l := read(2, libvirt.Statistics{"cpu.time": 6e9, "vcpu.0.time": 3e9, "vcpu.0.delay": 5e8, "vcpu.1.time": 5e8, "vcpu.1.delay": 0})
	if l.demand.CPU.Recent != 1000 || l.demand.Consumed != 512<<20 {
		t.Errorf("ran for 1.5 s of 2 and waited for 0.5: %+v", l.demand)
	}
	d.counts.read(libvirt.Statistics{"cpu.time": 6.5e9, "vcpu.0.time": 3.5e9, "vcpu.0.delay": 5e8, "vcpu.1.time": 5e8, "vcpu.1.delay": 0}, begin.Add(2*time.Second+s.file.poll/4))
	if s.measure(uuid{1}, d, m); l.demand.CPU.Count != 1 {
		t.Errorf("an event adds a sample: %+v", l.demand)
	}
	if read(2, libvirt.Statistics{}); l.demand.CPU.Count != 1 {
		t.Errorf("a busy domain adds a sample: %+v", l.demand)
	}
	d.ID = 7 // it was started again: its counters begin anew
	if read(4, libvirt.Statistics{"cpu.time": 1e9, "vcpu.0.time": 1e9, "vcpu.0.delay": 0}); l.demand.CPU.Count != 1 {
		t.Errorf("a new run adds a sample: %+v", l.demand)
	}
	read(6, libvirt.Statistics{"cpu.time": 1e12, "vcpu.0.time": 1e12, "vcpu.0.delay": 0, "balloon.available": 1 << 18, "balloon.usable": 1 << 17, "dirtyrate.calc_status": 2, "dirtyrate.megabytes_per_second": 3})
	if l.demand.CPU.Max != 2000 || l.demand.Active.Recent != 128<<20 || l.demand.Dirty != 3<<20 {
		t.Errorf("more than its vCPUs: %+v", l.demand)
	}
}

// world is two hosts that respond, and a VM on the first.
func world(t *testing.T) *source {
	s := newSource(parsed(t, list))
	s.file.name = filepath.Join(t.TempDir(), "lab.yaml")
	for _, m := range s.members {
		m.conn, m.known, m.vms = &libvirt.Conn{}, true, map[uuid]*domain{}
		m.host = m.spec.host(cluster.Host{Sockets: 1, CoresPerNode: 8, MHz: 1000})
	}
	s.members[0].vms[uuid{1}] = running("web", 1)
	return s
}

func running(name string, id int) *domain {
	return &domain{Domain: libvirt.Domain{Name: name, UUID: uuid{byte(id)}, ID: id}, state: libvirt.Running, shape: shape{vcpus: 1, memory: 1 << 30}}
}

func TestEvents(t *testing.T) {
	stopped := func(detail int) libvirt.Lifecycle {
		return libvirt.Lifecycle{Domain: libvirt.Domain{UUID: uuid{1}}, Change: libvirt.Stopped, Detail: detail}
	}
	started := func(detail int) libvirt.Lifecycle {
		return libvirt.Lifecycle{Domain: libvirt.Domain{UUID: uuid{1}}, Change: libvirt.Started, Detail: detail}
	}
	for name, tc := range map[string]struct {
		do   func(a, b *member)
		want []string
	}{
		"nothing": {func(a, b *member) {}, nil},
		"a move": {func(a, b *member) {
			a.notes.take(stopped(3))
			b.notes.take(started(1))
			b.vms[uuid{1}], a.vms = a.vms[uuid{1}], nil
		}, []string{"vm-moved web beta alpha migrated"}},
		"a migration under way": {func(a, b *member) {
			b.vms[uuid{1}] = running("web", 1)
			b.vms[uuid{1}].state = libvirt.Paused
		}, nil},
		"a stop": {func(a, b *member) {
			a.notes.take(stopped(2))
			a.vms[uuid{1}].ID = -1
			a.vms[uuid{1}].state = libvirt.Off
		}, []string{"vm-stopped web alpha  crashed"}},
		"a loss": {func(a, b *member) { a.conn = nil }, []string{"control-lost  alpha  no answer", "host-changed  alpha  from connected to quarantined"}},
		"a restart": {func(a, b *member) { a.conn = nil; b.vms[uuid{1}] = running("web", 1); b.notes.take(started(0)) },
			[]string{"control-lost  alpha  no answer", "host-changed  alpha  from connected to quarantined", "vm-restarted web beta alpha it was started here while the daemon of alpha does not answer"}},
		"a second of the name": {func(a, b *member) { b.vms[uuid{2}] = running("web", 2) },
			[]string{"vm-added web (02000000-0000-0000-0000-000000000000) beta  ", "vm-started web (02000000-0000-0000-0000-000000000000) beta  "}},
		"a move of what is off": {func(a, b *member) {
			a.vms[uuid{1}].ID, a.vms[uuid{1}].state = -1, libvirt.Off
		}, []string{"vm-stopped web alpha  "}},
	} {
		s := world(t)
		before := s.view()
		tc.do(s.members[0], s.members[1])
		after := s.view()
		var got []string
		for _, e := range before.events(after) {
			got = append(got, strings.Join([]string{string(e.Kind), e.VM, e.Host, e.From, e.Text}, " "))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q\nwant %q", name, got, tc.want)
		}
	}
}

// A VM that needs a disk or a device of its host can run on no other, also while it is off.
func TestVMsThatAreTiedToTheirHost(t *testing.T) {
	s := world(t)
	for i, m := range s.members {
		d := running(fmt.Sprint("tied-", i), 10+i)
		d.ID, d.state, d.shape.tied = -1, libvirt.Off, "a device of the host"
		m.vms[d.UUID] = d
	}
	s.members[1].vms[uuid{20}] = running("free", 20)
	c := s.view().cluster
	x := cluster.NewIndex(c)
	allowed := map[string][2]bool{}
	for v := range c.VMs {
		allowed[c.VMs[v].Name] = [2]bool{x.Allowed(cluster.VMID(v), 0), x.Allowed(cluster.VMID(v), 1)}
	}
	want := map[string][2]bool{"tied-0": {true, false}, "tied-1": {false, true}, "free": {true, true}, "web": {true, true}}
	if !maps.Equal(allowed, want) || len(s.file.datastores) != 2 {
		t.Errorf("allowed hosts %v, want %v; datastores of the list %q", allowed, want, s.file.datastores)
	}
	var b bytes.Buffer
	if err := snapshot.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Read("live", b.Bytes()); err != nil {
		t.Error(err)
	}
}

// A VM that has left its host and not arrived is looked for again.
func TestBetweenHosts(t *testing.T) {
	s := world(t)
	before := s.view()
	s.members[0].notes.take(libvirt.Lifecycle{Domain: libvirt.Domain{UUID: uuid{1}}, Change: libvirt.Stopped, Detail: 3})
	s.members[0].vms = nil
	if !before.between(s.view()) {
		t.Error("it counts as stopped")
	}
	s.members[1].vms[uuid{1}] = running("web", 1)
	if before.between(s.view()) {
		t.Error("it has arrived")
	}
}

// While the hosts in maintenance cannot be read, an event says so, nothing is moved, and hosts
// keep their state.
func TestMaintenanceThatCannotBeRead(t *testing.T) {
	s := world(t)
	s.file.name = filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(s.file.name, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.file.mark("beta", true); err != nil {
		t.Fatal(err)
	}
	was := s.view()
	name := s.file.name + markEnding
	if err := errors.Join(os.Rename(name, name+".away"), os.Mkdir(name, 0o700)); err != nil {
		t.Fatal(err)
	}
	now := s.view()
	events := was.events(now)
	if len(events) != 1 || events[0].Kind != live.ControlLost || events[0].Host != "" || !strings.Contains(events[0].Text, "maintenance") {
		t.Errorf("told %+v", events)
	}
	if is := now.hosts["beta"].state; is != cluster.Maintenance {
		t.Errorf("beta, which was in maintenance, is %s", is)
	}
	conns := map[*member]*libvirt.Conn{}
	for _, m := range s.members { // no daemon can be read
		conns[m], m.conn, m.retry = m.conn, nil, time.Now().Add(time.Hour)
	}
	for _, err := range []error{(&hand{s}).Move(t.Context(), "web", "beta"), (&hand{s}).Maintain(t.Context(), "beta", false)} {
		if err == nil || !strings.Contains(err.Error(), "read which hosts are in maintenance") {
			t.Errorf("a change: %v", err)
		}
	}
	if _, err := (&watch{source: s}).look(t.Context()); err == nil {
		t.Error("a watch begins")
	}
	at, err := live.ParseAddress("libvirt://" + s.file.name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t.Context(), at); err == nil || !strings.Contains(err.Error(), "maintenance") {
		t.Errorf("it is opened: %v", err)
	}
	if err := errors.Join(os.Remove(name), os.Rename(name+".away", name)); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.members {
		m.conn = conns[m]
	}
	if events := now.events(s.view()); len(events) != 1 || events[0].Kind != live.ControlBack {
		t.Errorf("told %+v", events)
	}
}

func FuzzListsAndDomains(f *testing.F) {
	f.Add(list, domainText, "alpha\n# beta\n\\# gamma\n\\\n")
	f.Fuzz(func(t *testing.T, text, domain, marks string) {
		l, err := parseFile("lab.yaml", []byte(text))
		if err != nil {
			l = &file{networks: []string{"a"}, datastores: []string{"/b"}}
		} else if len(l.hosts) == 0 {
			t.Error("a list without hosts")
		}
		for i := range l.hosts {
			if h := l.hosts[i].host(cluster.Host{}); h.Cores() < 1 || h.MHz < 1 {
				t.Errorf("%+v", h)
			}
		}
		if s, err := l.shapeOf(domain); err == nil && (s.vcpus < 1 || s.memory < 1 || s.vm().CPU.Shares < 0) {
			t.Errorf("%+v", s)
		}
		for name := range parseMarks(marks) {
			if again := parseMarks(markLine(name)); name == "" || strings.TrimSpace(name) == name && !again[name] {
				t.Errorf("the mark %q is read again as %v", name, again)
			}
		}
	})
}

// The failure of a guest after its migration is reported with the daemon's message.
func TestTheEndOfAGuestAfterItsMove(t *testing.T) {
	s := newSource(parsed(t, list))
	id := uuid{1}
	for want, l := range map[string]libvirt.Lifecycle{
		"it reached beta, and has ended there (crashed): its guest crashed or powered off": {Domain: libvirt.Domain{UUID: id}, Change: libvirt.Stopped, Detail: 2},
		"it reached beta, and has ended there: its guest crashed or powered off":           {Domain: libvirt.Domain{UUID: uuid{2}}, Change: libvirt.Stopped},
	} {
		s.members[1].notes = notes{}
		s.members[1].notes.take(l)
		if err := (&hand{s}).ended(id, "beta"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
