package importer

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/cluster/trace"
)

// take imports, and reads the output again.
func take(t *testing.T, format string, o Options, files ...string) (*Result, traced) {
	t.Helper()
	var out bytes.Buffer
	r, err := Import(context.Background(), format, files, o, trace.NewWriter(&out))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read("out.csv", bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Follows(r.Cluster); err != nil {
		t.Error(err)
	}
	var text bytes.Buffer
	if err := snapshot.Write(&text, r.Cluster); err != nil {
		t.Fatal(err)
	}
	again, err := snapshot.Read("out.yaml", text.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, text.Bytes())
	}
	if d := cmp.Diff(r.Cluster, again); d != "" {
		t.Errorf("the snapshot is read as another cluster: %s", d)
	}
	for i, v := range r.Cluster.VMs {
		v.Host, v.Waiting, v.Demand = cluster.Nowhere, false, cluster.Demand{}
		if d := cmp.Diff(v, trace.VM(v.Name, v.VCPUs, v.Memory)); d != "" {
			t.Errorf("VM %d of the cluster is another one in the trace: %s", i, d)
		}
	}
	var all traced
	for row := range trace.Rows("out.csv", &out) {
		all = append(all, row)
	}
	if n := len(all.lives()); n != r.Running+r.Later {
		t.Errorf("%d VMs in the trace, and the cluster has %d; %d arrive later", n, len(r.Cluster.VMs), r.Later)
	}
	return r, all
}

func vmNames(c *cluster.Cluster) (list []string) {
	for i := range c.VMs {
		list = append(list, c.VMs[i].Name)
	}
	return list
}

type life struct {
	name     string
	from, to int64
}

// traced are the rows of a trace.
type traced []trace.Row

// lives are the VMs by arrival, those of second 0 first.
func (r traced) lives() (list []life) {
	for _, row := range r {
		switch row.Kind {
		case trace.Arrive:
			list = append(list, life{row.VM, row.Second, forever})
		case trace.Depart:
			list[slices.IndexFunc(list, func(l life) bool { return l.name == row.VM })].to = row.Second
		}
	}
	slices.SortStableFunc(list, func(a, b life) int { return int(min(a.from, 1) - min(b.from, 1)) })
	return list
}

// at is the demand of a VM at a second.
func (r traced) at(name string, second int64) (s trace.Row) {
	for _, row := range r {
		if row.Kind == trace.Demand && row.VM == name && row.Second <= second {
			s = row
		}
	}
	return s
}

func TestHuawei(t *testing.T) {
	r, tr := take(t, "huawei", Options{At: 350}, "testdata/huawei.csv")
	if d := cmp.Diff([]string{"vm-0", "vm-2", "vm-9"}, vmNames(r.Cluster)); d != "" {
		t.Error(d)
	}
	want := []life{{"vm-0", 0, 250}, {"vm-2", 0, forever}, {"vm-9", 0, 60}, {"vm-3", 50, forever}, {"vm-1-2", 150, forever}}
	if d := cmp.Diff(want, tr.lives(), cmp.AllowUnexported(life{})); d != "" {
		t.Error(d)
	}
	v := r.Cluster.VMs[1]
	if v.VCPUs != 2 || v.Memory != 4<<30 || v.Demand != (cluster.Demand{}) || v.Host == cluster.Nowhere {
		t.Errorf("vm-2 is %+v", v)
	}
	if s := tr.at("vm-2", 0); s.CPU != 2*2600/2 || s.Active < 2<<30-100 || s.Active > 2<<30 {
		t.Errorf("half of its size is assumed: %+v", s)
	}
	odd := []string{"VMs deleted but never created, kept as present from the beginning: 1", "skipped rows that delete a VM again: 1"}
	if d := cmp.Diff(odd, r.Warnings); d != "" {
		t.Error(d)
	}
	if r, _ := take(t, "huawei", Options{At: Middle, Demand: 30, Waiting: true}, "testdata/huawei.csv"); r.At != 250 || r.Waiting != 4 || r.Cluster.VMs[0].Demand.CPU.Recent != 780 {
		t.Errorf("in the middle: %+v", r)
	}
	if r, _ := take(t, "huawei", Options{At: 0, Every: 2}, "testdata/huawei.csv"); r.VMs != 3 || r.Running != 2 {
		t.Errorf("every other: %+v", r)
	}
}

func TestBitbrains(t *testing.T) {
	r, tr := take(t, "bitbrains", Options{At: 600}, "testdata/bitbrains")
	if d := cmp.Diff([]life{{"vm-1", 0, forever}, {"vm-10", 300, forever}}, tr.lives(), cmp.AllowUnexported(life{})); d != "" {
		t.Error(d)
	}
	if r, _ := take(t, "bitbrains", Options{At: 599}, "testdata/bitbrains"); r.Running != 2 {
		t.Errorf("vm-2 is there for one interval after its last sample: %v", vmNames(r.Cluster))
	}
	v := r.Cluster.VMs[0]
	var cpu, active cluster.DemandStatistics
	for _, x := range []float64{1000, 2001, 500} {
		cpu.Add(x)
	}
	for _, x := range []float64{1 << 30, 2 << 30, 1 << 30} {
		active.Add(x)
	}
	if d := cmp.Diff(cluster.Demand{CPU: cpu, Active: active, Consumed: 2 << 30, Link: 5 * 8192}, v.Demand); d != "" || v.VCPUs != 4 || v.Memory != 8<<30 {
		t.Errorf("vm-1 is %+v: %s", v, d)
	}
	if h := r.Cluster.Hosts[0]; h.MHz != 2500 {
		t.Errorf("a host has %d MHz", h.MHz)
	}
	if s := tr.at("vm-1", 300); s.CPU != 4000 || s.Active != 8<<30 {
		t.Errorf("demand is cut at the size of the VM: %+v", s)
	}
	want := []string{"skipped rows that go back in time or repeat a time: 1", "skipped files without samples, cores or memory: 1"}
	if d := cmp.Diff(want, r.Warnings); d != "" {
		t.Error(d)
	}
	if r, _ := take(t, "bitbrains", Options{At: 0}, "testdata/bitbrains/2.csv", "testdata/bitbrains/1.csv"); r.Cluster.VMs[0].Name != "vm-2" {
		t.Errorf("files are taken in the order in which they are named: %v", vmNames(r.Cluster))
	}
}

// packing writes the tables of the packing trace in the format of sqlite3.
func packing(t *testing.T, types, requests string) []string {
	t.Helper()
	dos := func(text string) []byte { return []byte(strings.ReplaceAll(text, "\n", "\r\n")) }
	return []string{
		write(t, dos("vmId,vmTypeId,starttime,endtime\n"+requests)),
		write(t, dos("vmTypeId,machineId,core,memory\n"+types)),
	}
}

const (
	types    = "7,2,0.25,0.125\n7,1,0.5,0.25\n8,2,0.001,0.001\n9,1,1,1.5\n"
	requests = "1,7,-7157.0,0.5\n2,8,-0.25,\n3,9,0.1,1.5\n4,7,0.75,90\n5,99,0.1,0.2\n6,7,0.5,0.4\n"
)

func TestAzurePacking(t *testing.T) {
	files := packing(t, types, requests)
	r, tr := take(t, "azure-packing", Options{At: 43200 - 1, HostCores: 40}, files...)
	if d := cmp.Diff([]string{"vm-1", "vm-2", "vm-3"}, vmNames(r.Cluster)); d != "" {
		t.Error(d)
	}
	type size struct {
		vcpus  int
		memory int64
	}
	var sizes []size
	for _, v := range r.Cluster.VMs {
		sizes = append(sizes, size{v.VCPUs, v.Memory})
	}
	if d := cmp.Diff([]size{{20, 128 << 30}, {1, 524 << 20}, {40, 512 << 30}}, sizes, cmp.AllowUnexported(size{})); d != "" {
		t.Error(d)
	}
	want := []life{{"vm-1", 0, 1}, {"vm-2", 0, forever}, {"vm-3", 0, 86400*3/2 - 43199}, {"vm-4", 64800 - 43199, 90*86400 - 43199}}
	if d := cmp.Diff(want, tr.lives(), cmp.AllowUnexported(life{})); d != "" {
		t.Error(d)
	}
	for _, what := range []string{"generation 1", "size of another: 1", "taken as a whole host: 1", "started before the trace: 1", "with an undefined VM type: 1", "end before they start: 1"} {
		if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, what) }) {
			t.Errorf("no warning says %q: %q", what, r.Warnings)
		}
	}
	slices.Reverse(files)
	if r, _ := take(t, "azure-packing", Options{At: 0, Generation: "2"}, files...); r.Cluster.VMs[0].VCPUs != 16 {
		t.Errorf("of the other generation: %+v", r.Cluster.VMs[0])
	}
}

// The commands in the error of a database produce valid input.
func TestTheCommandsThatExportADatabaseWork(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil {
		t.Skip("no sqlite3")
	}
	dir := t.TempDir()
	shell := func(command string) {
		t.Helper()
		c := exec.Command("sh", "-ec", command)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	file := filepath.Join(dir, "packing #1, Ann's.sqlite")
	shell(`sqlite3 "packing #1, Ann's.sqlite" 'CREATE TABLE vm (vmId INTEGER, tenantId INTEGER, vmTypeId INTEGER, priority INTEGER, starttime REAL, endtime REAL);
		CREATE TABLE vmType (id INTEGER, vmTypeId INTEGER, machineId INTEGER, core REAL, memory REAL, hdd REAL, ssd REAL, nic REAL);
		INSERT INTO vm VALUES (1,1,7,0,-7157,0.5), (2,1,7,1,-0.25,NULL); INSERT INTO vmType VALUES (0,7,2,0.25,0.125,0,0,0)'`)
	_, err := Import(context.Background(), "azure-packing", []string{file}, Options{}, nil)
	if err == nil {
		t.Fatal("the database was imported")
	}
	_, commands, _ := strings.Cut(err.Error(), "\n")
	shell(commands)
	r, err := Import(context.Background(), "azure-packing", []string{filepath.Join(dir, "vm.csv"), filepath.Join(dir, "vmtype.csv")}, Options{At: 0}, nil)
	if err != nil || r.Running != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestWhatIsWrongWithTheTablesIsNamed(t *testing.T) {
	good := packing(t, types, requests)
	with := func(types, requests string) []string { return packing(t, types, requests) }
	for _, c := range []struct {
		what  string
		files []string
		want  string
		o     Options
	}{
		{"no file", []string{filepath.Join(t.TempDir(), "absent")}, "no such file", Options{}},
		{"one file", good[:1], "requires two CSV files", Options{}},
		{"the same twice", []string{good[0], good[0]}, "requires two CSV files", Options{}},
		{"other columns", []string{write(t, []byte("vmid,cpu\n"))}, `:1: columns "vmid,cpu"; expected vmId,vmTypeId,starttime,endtime or`, Options{}},
		{"cut off", with(types, strings.TrimSuffix(requests, "4\n")), ":7: the last line has no newline: the file is truncated", Options{}},
		{"empty", with("", requests), "the table is empty", Options{}},
		{"no requests", with(types, ""), "the trace has no VMs", Options{}},
		{"negative", with("7,1,-0.5,0.5\n", requests), `:2: core "-0.5" is below 0`, Options{}},
		{"text for a number", with(types, "1,7,soon,1\n"), `:2: starttime of VM 1 is "soon"`, Options{}},
		{"no id", with(types, ",7,1,1\n"), ":2: vmId is empty", Options{}},
		{"no start", with(types, "1,7,,1\n"), `starttime of VM 1 is ""`, Options{}},
		{"too late", with(types, "1,7,0,1e300\n"), `endtime of VM 1 is "1e300"`, Options{}},
		{"infinite", with(types, "1,7,Inf,1\n"), `starttime of VM 1 is "Inf"`, Options{}},
		{"generation", good, `unknown generation "5": must be one of [1 2]`, Options{Generation: "5"}},
		{"after the end", good, "the end of the trace, at 64800 s", Options{At: 64801}},
	} {
		r, err := Import(context.Background(), "azure-packing", c.files, c.o, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || r != nil {
			t.Errorf("%s: %v; want %s", c.what, err, c.want)
		}
	}
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWhatIsWrongWithATableIsNamed(t *testing.T) {
	bit, err := os.ReadFile("testdata/bitbrains/2.csv")
	if err != nil {
		t.Fatal(err)
	}
	swap := func(old, with string) string { return strings.Replace(string(bit), old, with, 1) }
	for _, c := range []struct{ format, text, want string }{
		{"huawei", "vmid,cpu,memory,time,kind\n", `:1: column 5 is "kind"; expected "type"`},
		{"huawei", "1,2,4,0,0\n1,2,4,5,0\n", ":2: VM 1 is created twice"},
		{"huawei", "1,2,4,9,0\n1,2,4,5,1\n", ":2: VM 1 is deleted at 5 s, before its creation at 9 s"},
		{"huawei", "1,0,4,9,0\n", ":1: VM 1 has no cores"},
		{"huawei", "1,2,NaN,9,0\n", `:1: memory "NaN" is not finite`},
		{"huawei", "1,2,4,-9,0\n", `:1: time "-9" is below 0`},
		{"huawei", "1,2,4,99999999999,0\n", `:1: time "99999999999" is above`},
		{"huawei", "1,99999,4,9,0\n", `:1: cpu "99999" is above the maximum of 1024`},
		{"huawei", "1,2,4,9,2\n", `:1: type "2" is above the maximum of 1`},
		{"huawei", "1,2,4,9,0\n2,4", ":2: the last line has 2 of 5 columns and no newline: the file is truncated"},
		{"huawei", "", "the trace has no VMs"},
		{"bitbrains", "", ":1: the file is empty"},
		{"bitbrains", string(bit[:len(bit)-40]), ":3: the last line has"},
		{"bitbrains", swap("CPU cores", "Cores"), `:1: column 2 is "Cores"; expected "CPU cores"`},
		{"bitbrains", swap("\t100;", "\tNaN;"), `:2: CPU usage [MHZ] "NaN" is not finite`},
		{"bitbrains", swap("\t100;", "\t-1;"), `:2: CPU usage [MHZ] "-1" is below 0`},
		{"bitbrains", swap("\t4194304;", "\t1e30;"), `:2: Memory capacity provisioned [KB] "1e30" is above`},
		{"bitbrains", swap("\t4000;", "\t4000000;"), `:2: CPU capacity provisioned [MHZ]: a core of 2000000 MHz`},
		{"bitbrains", swap("1500000000000;", "999999999999999;"), `:2: Timestamp [ms]: 999999999999 s since 1970`},
	} {
		_, err := Import(context.Background(), c.format, []string{write(t, []byte(c.text))}, Options{}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.60q: %v; want %s", c.format, c.text, err, c.want)
		}
	}
}

func TestMistakesOfTheQuestion(t *testing.T) {
	const file = "testdata/huawei.csv"
	for _, c := range []struct {
		want, format string
		files        []string
		o            Options
	}{
		{"must be one of azure-packing, huawei, bitbrains", "google", []string{file}, Options{}},
		{"2 files; expected one", "huawei", []string{file, file}, Options{}},
		{"would both be VM vm-1", "bitbrains", []string{"testdata/bitbrains/1.csv", "testdata/bitbrains/1.csv"}, Options{}},
		{"ends in .csv", "bitbrains", []string{t.TempDir()}, Options{}},
		{"hosts: -1", "huawei", []string{file}, Options{Hosts: -1}},
		{"demand in per cent: 101", "huawei", []string{file}, Options{Demand: 101}},
		{"-2 s is invalid", "huawei", []string{file}, Options{At: -2}},
		{"the largest VMs have 16 vCPUs", "huawei", []string{file}, Options{HostCores: 4}},
		{"the largest VMs have 16 vCPUs and 65536 MiB", "huawei", []string{file}, Options{HostMemory: 1 << 30}},
	} {
		if _, err := Import(context.Background(), c.format, c.files, c.o, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	for format, files := range map[string][]string{"huawei": {file}, "bitbrains": {"testdata/bitbrains"}, "azure-packing": packing(t, types, requests)} {
		if _, err := Import(stopped, format, files, Options{}, nil); err == nil {
			t.Errorf("%s was imported although it was stopped", format)
		}
	}
}

// The default hosts hold the peak of any trace: all VMs of any time fit.
func TestHostsHoldThePeak(t *testing.T) {
	var rows strings.Builder
	x := uint32(1)
	next := func(n uint32) uint32 { x = x*1664525 + 1013904223; return x >> 8 % n }
	ends := map[uint32][]uint32{}
	for at := range uint32(3000) {
		for _, id := range ends[at] {
			rows.WriteString(strings.Join([]string{itoa(id), "1", "1", itoa(at * 60), "1\n"}, ","))
		}
		size := 1 << next(6)
		rows.WriteString(strings.Join([]string{itoa(at), itoa(uint32(size)), itoa(uint32(size) * (2 + 2*next(3))), itoa(at * 60), "0\n"}, ","))
		end := at + 1 + next(500)
		ends[end] = append(ends[end], at)
	}
	file := write(t, []byte(rows.String()))
	for _, at := range []int64{0, 30_000, 90_000, 170_000} {
		r, err := Import(context.Background(), "huawei", []string{file}, Options{At: at, HostCores: 64, HostMemory: 256 << 30}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Waiting != 0 {
			t.Errorf("%d of %d VMs wait at %d s", r.Waiting, r.Running, at)
		}
		l := make([]int64, r.Hosts)
		for _, v := range r.Cluster.VMs {
			if l[v.Host] += v.Memory; l[v.Host] > 256<<30 {
				t.Fatalf("host %d is overfull", v.Host)
			}
		}
	}
}

func TestAProfileIsNeverTooLow(t *testing.T) {
	var p profile
	p.add(&vm{vcpus: 3, memory: 5, from: -10, to: 100})
	p.add(&vm{vcpus: 2, memory: 7, from: 100, to: 90_000_000})
	p.add(&vm{vcpus: 1, memory: 1, from: 80_000_000, to: forever})
	p.add(&vm{vcpus: 100, memory: 100, from: -10, to: -5})
	if vcpus, memory := p.most(); vcpus != 5 || memory != 12 || len(p.steps) > mostSteps {
		t.Errorf("%d vCPUs, %d bytes in %d steps", vcpus, memory, len(p.steps))
	}
}

// 125,000 rows take less than 50 MB, so that the program stays below 100 MB.
func TestMemoryOfALargeTrace(t *testing.T) {
	var rows bytes.Buffer
	for i := range uint32(125_000) {
		rows.WriteString(strings.Join([]string{itoa(i), "2", "4", itoa(i * 20), "0\n"}, ","))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	h, err := readHuawei("big.csv", &rows)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 50<<20 || len(h.vms) != 125_000 {
		t.Errorf("%d VMs take %d MB", len(h.vms), grown>>20)
	}
	runtime.KeepAlive(h)
}

func itoa(n uint32) string {
	var b []byte
	for b = append(b, byte('0'+n%10)); n > 9; b = append(b, byte('0'+n%10)) {
		n /= 10
	}
	slices.Reverse(b)
	return string(b)
}

func FuzzHuawei(f *testing.F) {
	f.Add("vmid,cpu,memory,time,type\n1,2,4,0,0\n1,2,4,5,1\n1,2,4,5,0")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := readHuawei("f", strings.NewReader(text))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for i := range h.vms {
			m := &h.vms[i]
			if m.vcpus < 1 || m.memory < 1 || m.from < 0 || m.to < m.from || seen[m.name] {
				t.Fatalf("%+v", m)
			}
			seen[m.name] = true
		}
	})
}

func FuzzBitbrains(f *testing.F) {
	data, err := os.ReadFile("testdata/bitbrains/1.csv")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	f.Fuzz(func(t *testing.T, text string) {
		b, m := &bitbrains{}, &vm{}
		if err := b.file("f", strings.NewReader(text), m); err != nil {
			return
		}
		last := int64(-1)
		for _, p := range m.points {
			if p.second <= last || p.cpu < 0 || p.active < 0 || p.link < 0 {
				t.Fatalf("%+v", p)
			}
			last = p.second
		}
	})
}

func FuzzAzurePacking(f *testing.F) {
	f.Add(types, requests)
	f.Fuzz(func(t *testing.T, types, requests string) {
		result, err := Import(context.Background(), "azure-packing", packing(t, types, requests), Options{At: Middle}, nil)
		if err == nil && (result.Running > result.VMs || result.Hosts < 1) {
			t.Fatalf("%+v", result)
		}
	})
}
