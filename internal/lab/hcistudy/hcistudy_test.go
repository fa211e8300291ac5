package hcistudy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/document"
)

var update = flag.Bool("update", false, "rewrite golden files")

// configuration is one as HCIBench writes it, by the keys that its code reads.
const configuration = `vc: 'vcenter.example'
vc_username: 'someone@example'
vc_password: 'not-a-secret-1'
datacenter_name: 'dc'
datastore_name:
- 'vsanDatastore'
storage_policy: ''
hosts_credential:
  esx-1.example:
    host_username: root
    host_password: not-a-secret-2
easy_run: false
workloads:
latency_target: 'Max'
tool: 'fio'
number_vm: 4
number_cpu: 2
size_ram: 4
number_data_disk: 2
size_data_disk: 10
warm_up_disk_before_testing: 'ZERO'
self_defined_param_file_path: '/opt/automation/fio-param-files'
testing_duration: 600
output_path: 'mytest'
`

const mixed = "; made by hand\n[global]\nruntime=3600\ntime_based=1\nramp_time=1800\ndirect=1\nreadwrite=randrw\nrwmixread=70\npercentage_random=80\nblocksize=4K\nioengine=libaio\ncontinue_on_error=all\ngroup_reporting\n" +
	"\n[job0]\nfilename=/dev/sda\nsize=50%\niodepth=4\n\n[job1]\nfilename=/dev/sdb\nsize=50%\niodepth=4\n"

const corner = "*Auto Generated VDBench Parameter File\ndebug=86\ndata_errors=10000\ncompratio=2\nsd=sd1,lun=/dev/sda,openflags=o_direct,hitarea=0,range=(0,100),threads=2\nsd=sd2,lun=/dev/sdb,openflags=o_direct,hitarea=0,range=(0,100),threads=2\n" +
	"wd=wd1,sd=(sd1,sd2),xfersize=256k,rdpct=100,seekpct=0\nrd=run1,wd=wd1,iorate=max,elapsed=3600,warmup=1800\n"

func files(t *testing.T, all map[string]string, names ...string) (list []*Parameters) {
	t.Helper()
	for _, name := range names {
		p, err := ReadParameters(name, []byte(all[name]))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func TestStudies(t *testing.T) {
	all := map[string]string{
		"fio-2vmdk-50ws-4k-70rdpct-80randompct-4threads": mixed, "vdb-2vmdk-100ws-256k-100rdpct-0randompct-2threads": corner,
		"fio-2vmdk-50ws-4k-70rdpct-80randompct-1000lt": strings.Replace(mixed, "continue_on_error=all", "latency_target=1000\nlatency_window=1000000\nlatency_percentile=95.0\nlatency_run=1", 1),
		"few jobs": "[global]\nrw=write\nbssplit=4k/50:64k/50\nrate_iops=100\n[a]\nfilename=/dev/sda:/dev/sdb:/dev/sdc:/dev/sdd\niodepth=16\n[b]\nfilename=/dev/sde:/dev/sdf:/dev/sdg:/dev/sdh\niodepth=16\n",
	}
	var text strings.Builder
	show := func(title string, c *Configuration, list []*Parameters) {
		t.Helper()
		studies, lines, err := Studies(c, list)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "== %s\n", title)
		for _, l := range lines {
			fmt.Fprintln(&text, l)
		}
		for _, s := range studies {
			fmt.Fprintf(&text, "-- %s --\n%s", s.Name, s.Text)
		}
	}
	read := func(yaml string) *Configuration {
		t.Helper()
		c, err := ReadConfiguration("conf/perf-conf.yaml", []byte(yaml))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	show("parameter files", nil, files(t, all, "fio-2vmdk-50ws-4k-70rdpct-80randompct-4threads", "vdb-2vmdk-100ws-256k-100rdpct-0randompct-2threads", "fio-2vmdk-50ws-4k-70rdpct-80randompct-1000lt", "few jobs"))
	show("with a configuration", read(configuration), files(t, all, "fio-2vmdk-50ws-4k-70rdpct-80randompct-4threads", "few jobs"))
	show("VM groups", read(configuration+"vm_groups:\n- number_vm: 2\n  param_file: 'fio-2vmdk-50ws-4k-70rdpct-80randompct-4threads'\n- number_vm: 1\n  param_file: 'few jobs'\n"), files(t, all, "few jobs", "fio-2vmdk-50ws-4k-70rdpct-80randompct-4threads"))
	show("an easy run", read(strings.NewReplacer("easy_run: false", "easy_run: true", "'Max'", "'Low'", "workloads:", "workloads:\n- '4 Corner - Random Read with Small Blocksize'\n- 'General Purpose - Random 70/30 with Small Blocksize'").Replace(configuration)), nil)
	if strings.Contains(text.String(), "not-a-secret") || strings.Contains(text.String(), "someone@") || strings.Contains(text.String(), "vcenter.example") {
		t.Error("an account is in a study")
	}
	golden := filepath.Join("testdata", "studies.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != text.String() {
		t.Errorf("%v: the studies are\n%s", err, text.String())
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "there is no job in it",
		"bs=4k\n":                         "line 1: neither a section such as [global] nor below one",
		"[global]\nrw=trim\n[a]\n":        "rw=trim has no equivalent",
		"[global]\nrw=read\nbs=4q\n[a]\n": `"4q" is not a size such as 4k`,
		"[global]\nrw=read\n[a]\nbs=4k\n[b]\nbs=8k\n": "job 2 differs from the first in bs",
		"wd=a\nwd=b\nrd=c\n":                          "2 workloads and 1 runs of vdbench: take a file per load",
		"sd=a\nwd=b,xfersize=4k\nrd=c\n":              "no elapsed time",
	} {
		if _, err := ReadParameters("name", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"number_vm: four\n": "perf-conf.yaml:1:12: number_vm is a whole number", "vm_groups:\n- param_file: a\n": "perf-conf.yaml:2:3: a VM group has number_vm and param_file", "- a\n": "is a mapping of keys",
	} {
		if _, err := ReadConfiguration("perf-conf.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c, err := ReadConfiguration("a.yaml", []byte("vm_groups:\n- number_vm: 1\n  param_file: missing\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Studies(c, nil); err == nil || !strings.Contains(err.Error(), "the VM group with missing needs that parameter file") {
		t.Errorf("got %v", err)
	}
}

// Values stay values, and comments comments.
func TestNothingIsAddedToAStudy(t *testing.T) {
	p, err := ReadParameters("a\ndestroy: true", []byte("[global]\nrw=read\nioengine=x', destroy: true, targets: ['/dev/sda\nodd=1\r  destroy: true\n[a]\nfilename=a\n"))
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := Studies(nil, []*Parameters{p})
	if err != nil {
		t.Fatal(err)
	}
	root := document.New("study", document.Format{Most: 1 << 16, What: "study"}).Read([]byte(all[0].Text))
	if root == nil || root.Find("destroy") != nil || root.Find("workload").Find("storage").Find("destroy") != nil || root.Find("workload").Find("storage").Find("engine").Text != "x', destroy: true, targets: ['/dev/sda" {
		t.Errorf("the study is\n%s", all[0].Text)
	}
}

// Any parameter file is read or refused.
func FuzzParameters(f *testing.F) {
	f.Add([]byte(mixed))
	f.Add([]byte(corner))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadParameters("name", data)
		if err != nil {
			return
		}
		if p.Disks < 1 || p.Window < 0 || p.Warmup < 0 {
			t.Errorf("%+v", p)
		}
		if _, _, err := Studies(nil, []*Parameters{p}); err != nil {
			t.Error(err)
		}
	})
}
