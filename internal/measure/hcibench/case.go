package hcibench

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"
)

// Case is one measurement: VMs that ran the same load at the same time.
type Case struct {
	Name      Name
	Datastore string // in the names of the VMs
	Machines  []Machine
	Merged    map[string]float64 // metrics of all VMs together, by the names of plimsoll
	Version   string             // of fio, such as fio-3.33
	Global    []string           // fio's options of all jobs, NAME=VALUE
	Jobs      []Disk
	Ended     time.Time
	Seconds   float64  // from the start of the load to its end
	Settings  Settings // in hcibench.cfg
	Origin    Origin
}

// Disk is the job of one disk.
type Disk struct {
	Name    string // of the job
	Disk    string
	Options []string // fio's, NAME=VALUE
}

// Settings are those of a configuration of HCIBench that have an equivalent here.
type Settings struct {
	Test        string // output_path: the name of the folder of all cases
	VMs         int
	Disks       int     // of each VM
	DiskGB      float64 // size of a disk in GiB, which HCIBench calls GB; 0 if unknown
	Preparation string  // NONE, ZERO or RANDOM; empty if HCIBench has none such
	Seconds     float64 // of the measurement
	EasyRun     bool
	Groups      []Group // VM groups that ran at the same time
}

// Group is a VM group.
type Group struct {
	VMs  int
	File string // parameter file
}

// Origin is what HCIBench's files cannot hold of a trial of plimsoll.
type Origin struct {
	Study  string            `json:"study"`
	Arm    string            `json:"arm"`
	Levels map[string]string `json:"levels"`
	Trial  int               `json:"trial"`
	Block  int               `json:"block"`
	Group  string            `json:"group,omitempty"`  // of machines
	Beside bool              `json:"beside,omitempty"` // the group is background load beside the subject of the study
}

// Names of files in the folder of a case.
const (
	OriginFile   = "plimsoll.info"
	parameters   = "fio.cfg"
	settingsFile = "hcibench.cfg"
)

// Files are the files of the case, by their path in the folder of the test.
func (c *Case) Files() (map[string][]byte, error) {
	folder := c.Name.String()
	files := map[string][]byte{}
	var documents []*document
	for i, m := range c.Machines {
		d := c.document(m)
		text, err := d.encode()
		if err != nil {
			return nil, err
		}
		files[path.Join(folder, fmt.Sprintf("%s-%s-0-%d.json", m.Name, c.Datastore, i+1))] = text
		documents = append(documents, d)
	}
	origin, err := json.MarshalIndent(c.Origin, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", OriginFile, err)
	}
	files[path.Join(folder, OriginFile)] = append(origin, '\n')
	files[path.Join(folder, parameters)] = c.parameters()
	files[path.Join(folder, settingsFile)] = c.Settings.encode(c.Datastore)
	files[folder+SummarySuffix] = c.summary(documents)
	return files, nil
}

// parameters is the parameter file: a job file of fio.
func (c *Case) parameters() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "; study %s, arm %s, by plimsoll\n[global]\n%s\n", c.Origin.Study, strings.Join(strings.Fields(c.Origin.Arm), " "), strings.Join(c.Global, "\n"))
	for _, j := range c.Jobs {
		fmt.Fprintf(&b, "\n[%s]\n%s\n", j.Name, strings.Join(j.Options, "\n"))
	}
	return []byte(b.String())
}

// encode writes a configuration of HCIBench. It has neither addresses nor accounts.
func (s Settings) encode(datastore string) []byte {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("datastore_name:\n- '%s'", datastore)
	line("tool: 'fio'")
	line("number_vm: %d", s.VMs)
	line("number_data_disk: %d", s.Disks)
	if s.DiskGB > 0 {
		line("size_data_disk: %s", trimmed(s.DiskGB))
	}
	if s.Preparation != "" {
		line("warm_up_disk_before_testing: '%s'", s.Preparation)
	}
	line("testing_duration: %d", int64(math.Round(s.Seconds)))
	line("output_path: '%s'", strings.ReplaceAll(s.Test, "'", "''"))
	line("easy_run: %t", s.EasyRun)
	if len(s.Groups) > 0 {
		line("vm_groups:")
	}
	for _, g := range s.Groups {
		line("- number_vm: %d\n  param_file: '%s'", g.VMs, g.File)
	}
	return []byte(b.String())
}

// trimmed is a number without an exponent.
func trimmed(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.6f", v), "0"), ".")
}

const rule = "============================="

// summary is the summary as HCIBench 3.0 computes it: the IOPS of all VMs added, the throughput cut to whole MiB/s, and plain means over VMs of their means
// and percentiles. A line follows only if HCIBench could compute it. The block after it is plimsoll's.
func (c *Case) summary(documents []*document) []byte {
	var b strings.Builder
	line := func(name, format string, values ...any) { fmt.Fprintf(&b, name+"\t= "+format+"\n", values...) }
	iops, kib := 0., int64(0)
	for _, d := range documents {
		r, w := &d.Jobs[0].Read, &d.Jobs[0].Write
		iops, kib = iops+r.IOPS+w.IOPS, kib+r.KiBRate+w.KiBRate
	}
	fmt.Fprintf(&b, "Datastore     = %s\n%s\n", c.Datastore, rule)
	line("JOB_NAME", "%s", documents[0].Jobs[0].Name)
	line("VMs\t", "%d", len(documents))
	line("IOPS\t", "%.2f IO/S", iops)
	line("THROUGHPUT", "%.2f MB/s", float64(kib/1024))
	reads, writes := func(d *document) *direction { return &d.Jobs[0].Read }, func(d *document) *direction { return &d.Jobs[0].Write }
	line("R_LATENCY", "%.4f ms", meanOf(documents, reads))
	line("W_LATENCY", "%.4f ms", meanOf(documents, writes))
	if v, known := percentileOf(documents, reads); known {
		line("95%%tile_R_LAT", "%.4f ms", v)
	}
	if v, known := percentileOf(documents, writes); known {
		line("95%%tile_W_LAT", "%.4f ms", v)
	}
	fmt.Fprintf(&b, "%s\n", rule)
	c.merged(&b)
	fmt.Fprintf(&b, "%s\n", usageHead)
	return []byte(b.String())
}

// meanOf is the plain mean of the machines' mean response times, in ms.
func meanOf(documents []*document, of func(*document) *direction) float64 {
	sum := 0.
	for _, d := range documents {
		sum += of(d).Latency.Mean
	}
	return sum / float64(len(documents)) / 1e6
}

// percentileOf is the plain mean of the machines' percentiles, in ms. It is not known if a machine that ran the class has none.
func percentileOf(documents []*document, of func(*document) *direction) (float64, bool) {
	sum := 0.
	for _, d := range documents {
		v, has := of(d).Latency.Percentiles.find(needed)
		if !has && of(d).Operations > 0 {
			return 0, false
		}
		if has {
			sum += float64(v.(int64))
		}
	}
	return sum / float64(len(documents)) / 1e6, true
}

// merged is the block of plimsoll.
func (c *Case) merged(b *strings.Builder) {
	known := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Merged)), func(name string) bool { return !mergedMetric(name) })
	if len(known) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\t\t= by plimsoll: means weighted by operations, percentiles of all VMs in one histogram\n", mergedHead)
	for _, class := range []string{"", "read.", "write."} {
		for _, metric := range mergedMetrics {
			if v, has := c.Merged[class+metric]; has {
				scale, unit := mergedUnit(metric)
				fmt.Fprintf(b, "%-17s= %.4f %s\n", class+metric, v/scale, unit)
			}
		}
	}
	fmt.Fprintf(b, "%s\n", rule)
}
