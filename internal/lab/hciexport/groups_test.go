package hciexport

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hci"
	"plimsoll/internal/lab/easyrun"
	"plimsoll/internal/measure"
	"plimsoll/studies"
)

const neighbours = `study: neighbours
question: What do neighbours cost?
platform: local
groups:
  ours: {machines: 2, workload: {storage: {disks: 1, size: 64MiB, read: 100%, depth: 4}}}
  theirs: {workload: {storage: {disks: 4, size: 64MiB, block: 512KiB, read: 0%, random: 0%}}}
  memory: {workload: memory-access}
headline: [iops]
`

// background adds the trial of a group beside the subject, as a record has it.
func (f *folder) background(r *measure.Record, files map[string][]byte, name string, l load) {
	all := recorded(f.intervals(l)).Intervals()
	s := f.sum(all, measure.Window{Cut: all[2].From.Seconds(), End: all[9].To.Seconds()})
	r.Parts = append(r.Parts, measure.Part{Machine: name + "-1", Group: name, Workload: "storage", Rate: "iops", Values: s.Values, Counts: s.Counts})
	files[measure.LatencyFile(name+"-1")] = measure.EncodeHistograms(s.Log(), r.Window)
	for metric, v := range s.Values {
		r.Values[name+"."+metric] = v
	}
	for what, n := range s.Counts {
		r.Counts[name+"."+what] = n
	}
}

// Groups of machines are the VM groups of HCIBench 3.0. Imported again, the subject has its own result and the others theirs under their names.
func TestGroups(t *testing.T) {
	f := newFolder(t, filepath.Join(t.TempDir(), "neighbours"), neighbours)
	l := load{900, 0, 2 * time.Millisecond, 4096, 0}
	whole, files := measure.NewRecorder(nil), map[string][]byte{}
	merger := measure.NewMerger(2, whole)
	var parts []measure.Part
	for i, name := range []string{"ours-1", "ours-2"} {
		r := recorded(f.intervals(l))
		for _, in := range r.Intervals() {
			merger.Take(i, in)
		}
		s := f.sum(r.Intervals(), measure.Window{Cut: 2, End: 10})
		parts = append(parts, measure.Part{Machine: name, Group: "ours", Workload: "storage", Rate: "iops", Values: s.Values, Counts: s.Counts})
		files[measure.LatencyFile(name)] = measure.EncodeHistograms(s.Log(), measure.Window{Cut: 2, End: 10})
	}
	record := f.record(0, "", whole, files)
	record.Parts = append(parts, measure.Part{Machine: "memory-1", Group: "memory", Workload: "memory-access", Rate: "loads", Values: map[string]float64{"loads": 1}})
	f.background(record, files, "theirs", load{0, 200, 40 * time.Millisecond, 512 << 10, 0})
	f.write(record, files)

	out, lines := exported(t, f.dir)
	if !slices.Contains(lines, "the group memory runs no storage load and is left out") {
		t.Errorf("said %q", lines)
	}
	names := list(t, out)
	for _, name := range []string{
		"group0-fio-1vmdk-100ws-4k-100rdpct-100randompct-4threads-1795878020/ours-2-local-0-2.json",
		"group1-fio-4vmdk-100ws-512k-0rdpct-0randompct-1threads-1795878020/theirs-1-local-0-1.json",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("no %s in %q", name, names)
		}
	}
	text, err := os.ReadFile(filepath.Join(out, "group1-fio-4vmdk-100ws-512k-0rdpct-0randompct-1threads-1795878020", "hcibench.cfg"))
	if want := "vm_groups:\n- number_vm: 2\n  param_file: 'fio-1vmdk-100ws-4k-100rdpct-100randompct-4threads'\n- number_vm: 1\n  param_file: 'fio-4vmdk-100ws-512k-0rdpct-0randompct-1threads'\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v: %s", err, text)
	}
	in := imported(t, out)
	if len(in.Records) != 1 || in.Labels[0] != "baseline" {
		t.Fatalf("%d records, %q", len(in.Records), in.Labels)
	}
	maps.DeleteFunc(record.Values, func(name string, _ float64) bool { return name == "fairness" })
	same(t, record, &in.Records[0], exact)
	if p := in.Records[0].Parts; len(p) != 3 || p[0].Group != "ours" || p[2].Group != "theirs" {
		t.Errorf("parts %+v", p)
	}
}

// The jobs of an easy run are cases of one test. Images and files of this host have the same parameter file, and a prefix tells them apart.
func TestEasyRun(t *testing.T) {
	easy, err := hci.Plan(hci.Survey{CPUs: 2, Memory: 24 << 30, Disk: 50 << 30}, hci.Options{Policy: hci.Small, Profile: hci.Max, Jobs: []string{"4k-70-30", "large-read", "large-write"}})
	if err != nil {
		t.Fatal(err)
	}
	p := &easyrun.Plan{Easy: easy, Seed: 1}
	dir := filepath.Join(t.TempDir(), "easy")
	if err := p.Create(dir); err != nil {
		t.Fatal(err)
	}
	text, err := studies.Files.ReadFile(hci.Study + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	loads := []load{{700, 300, time.Millisecond, 4096, 0}, {100, 0, 10 * time.Millisecond, 512 << 10, 0}}
	for job, l := range loads {
		f := newFolder(t, p.Folder(dir, job), string(text), p.Jobs[job].Sets...)
		f.trial(0, "", nil, l)
		f.trial(1, "", nil, l)
	}
	out, lines := exported(t, dir)
	if !slices.Contains(lines, "job large-write was not run") || !slices.Contains(lines, "wrote "+out+": 4 cases") {
		t.Errorf("said %q", lines)
	}
	names := list(t, out)
	for _, name := range []string{
		"image-fio-4vmdk-100ws-4k-70rdpct-100randompct-8threads-1795878040/host-ceph-0-1.json", "file-fio-4vmdk-100ws-4k-70rdpct-100randompct-8threads-1795878020/host-local-0-1.json",
		"image-fio-4vmdk-100ws-512k-100rdpct-0randompct-2threads-1795878040", "image-fio-4vmdk-100ws-512k-100rdpct-0randompct-2threads-1795878040-res.txt",
	} {
		if !slices.Contains(names, name) {
			t.Errorf("no %s in %q", name, names)
		}
	}
	in := imported(t, out)
	slices.Sort(in.Labels)
	if want := []string{"4k-70-30, storage.backing=file", "4k-70-30, storage.backing=image", "large-read, storage.backing=file", "large-read, storage.backing=image"}; !slices.Equal(in.Labels, want) {
		t.Errorf("arms %q", in.Labels)
	}
	// A job is compared with its case by the names of its arms.
	all, err := newLab().ComparePair(p.Folder(dir, 1), out, []string{"storage.backing=image", "large-read, storage.backing=image"})
	if err != nil || len(all) != 1 {
		t.Fatal(err)
	}
	if h := all[0].Input.Findings.Headlines; len(h) != 2 || h[0].Ratio != 1 && (h[0].Ratio-1 > exact || 1-h[0].Ratio > exact) {
		t.Errorf("got %+v", h)
	}
}

// A search for a peak is exported as its last confirmation, with the latency target in the name.
func TestLatencyTarget(t *testing.T) {
	const text = "study: target\nquestion: How much within 5 ms?\nplatform: local\nworkload:\n  storage: {size: 64MiB, depth: 32}\nload: {peak: {within: {p95: 5ms, errors: 0/s}}}\nheadline: [peak]\n"
	f := newFolder(t, filepath.Join(t.TempDir(), "target"), text)
	var all []measure.Interval
	probes := []measure.Probe{{Phase: "bracket", Rate: 500, Passed: true}, {Phase: "confirm", Rate: 800, Passed: true}, {Phase: "ladder", Rate: 1600}}
	for i := range probes {
		p := &probes[i]
		from := time.Duration(10*i) * time.Second
		p.From, p.To = from.Seconds(), from.Seconds()+10
		for _, in := range f.intervals(load{0, int64(p.Rate), time.Millisecond, 4096, 0}) {
			in.From, in.To = in.From+from, in.To+from
			all = append(all, in)
		}
	}
	all = recorded(all).Intervals()
	for i := range probes {
		probes[i].Values = f.sum(all, probes[i].Window()).Values
	}
	files := measure.EncodeIntervals(all)
	r := &measure.Record{Trial: 1, Phase: "main", Block: 1, Slot: 1, Levels: map[string]string{}, Start: f.began, End: f.began.Add(time.Minute), Probes: probes,
		Peak: &measure.Peak{Word: "identified", Estimate: 850, Sustained: 800}, Values: map[string]float64{"peak": 850}, Checks: []measure.Check{}}
	f.write(r, files)
	out, _ := exported(t, f.dir)
	if names := list(t, out); names[0] != "fio-1vmdk-100ws-4k-0rdpct-100randompct-5000lt-1795878000" {
		t.Errorf("wrote %q", names)
	}
	same(t, &measure.Record{Values: probes[1].Values}, &imported(t, out).Records[0], exact)
	jobs, err := os.ReadFile(filepath.Join(out, "fio-1vmdk-100ws-4k-0rdpct-100randompct-5000lt-1795878000", "fio.cfg"))
	if err != nil || !strings.Contains(string(jobs), "\nrate_iops=25\n") {
		t.Errorf("%v: the job file is\n%s", err, jobs)
	}
}

// Arms of which HCIBench's names tell nothing have names of their own.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		what, workload, factors string
		want                    []string
	}{
		{"depth and threads", "size: 64MiB", "storage.threads: [1, 8]\n  storage.depth: [1, 8]", []string{
			"fio-1vmdk-100ws-4k-0rdpct-100randompct-1threads", "threads-1-depth-8-fio-1vmdk-100ws-4k-0rdpct-100randompct-8threads", "threads-8-depth-1-fio-1vmdk-100ws-4k-0rdpct-100randompct-8threads", "fio-1vmdk-100ws-4k-0rdpct-100randompct-64threads"}},
		{"sizes", "size: 64MiB", "storage.block: [1536B, 1MiB, 4KiB/50:8KiB/50]", []string{"fio-1vmdk-100ws-1536-0rdpct-100randompct-1threads", "fio-1vmdk-100ws-1024k-0rdpct-100randompct-1threads", "names"}},
		{"content", "size: 64MiB, compress: 50%", "storage.dedup: [0%, 50%]", []string{"fio-1vmdk-100ws-4k-0rdpct-100randompct-1threads-50compress", "fio-1vmdk-100ws-4k-0rdpct-100randompct-1threads-50compress-50dedupe"}},
		{"a part of a percent", "size: 64MiB", "storage.working_set: [100%, 0.5%]", []string{"fio-1vmdk-100ws-4k-0rdpct-100randompct-1threads", "names"}},
		{"engines", "size: 64MiB, depth: 2", "storage.engine: [libaio, io_uring]", []string{"libaio-fio-1vmdk-100ws-4k-0rdpct-100randompct-2threads", "io-uring-fio-1vmdk-100ws-4k-0rdpct-100randompct-2threads"}},
		{"levels alike", "size: 64MiB", "storage.through: ['null delay:1ms', 'null delay:1ms ']", []string{"null-delay-1ms-fio-1vmdk-100ws-4k-0rdpct-100randompct-1threads", "arm1-null-delay-1ms-fio-1vmdk-100ws-4k-0rdpct-100randompct-1threads"}},
	} {
		text := "study: names\nquestion: Which?\nplatform: local\nworkload:\n  storage: {" + c.workload + "}\nfactors:\n  " + c.factors + "\nheadline: [iops]\n"
		f := newFolder(t, t.TempDir(), text)
		for arm := range f.plan.Arms {
			f.trial(arm, "", nil, load{0, 100, time.Millisecond, 4096, 0})
		}
		out, _ := exported(t, f.dir)
		for _, want := range c.want {
			if !slices.ContainsFunc(list(t, out), func(name string) bool { return strings.TrimRight(name, "0123456789") == want+"-" }) {
				t.Errorf("%s: no case %s in %q", c.what, want, list(t, out))
			}
		}
		if in := imported(t, out); len(in.Labels) != len(f.plan.Arms) || !slices.Contains(in.Labels, f.plan.Arms[0].Label) {
			t.Errorf("%s: imported as %q", c.what, in.Labels)
		}
	}
}
