package libvirt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live/libvirt/definition"
)

// foreign are definitions written by other programs.
func foreign(t testing.TB) map[string]string {
	t.Helper()
	names, err := filepath.Glob("testdata/definitions/*.xml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".xml")] = string(text)
	}
	return all
}

// bare is a definition without its topology, nodes, spaces, and a CPU that has nothing else.
func bare(text string) string {
	cut := func(begin, end string) {
		if from := strings.Index(text, begin); from >= 0 {
			to := from + strings.Index(text[from:], end) + len(end)
			text = text[:from] + text[to:]
		}
	}
	cut("<topology ", "/>")
	cut("<numa>", "</numa>")
	text = strings.ReplaceAll(strings.Join(strings.Fields(text), ""), "<cpu></cpu>", "")
	return strings.Replace(text, "></cpu>", "/>", 1)
}

// Any topology can be written and read back without other changes. If the element stays,
// writing the former topology restores the original text.
func TestTopologiesInForeignDefinitions(t *testing.T) {
	for name, text := range foreign(t) {
		was, err := definition.Parse(text)
		if err != nil || was.Fixed != "" {
			t.Fatalf("%s: %v, %s", name, err, was.Fixed)
		}
		for cores := range was.VCPUs + 1 {
			for node := range was.VCPUs + 1 {
				to := topology.Setting{VCPUs: was.VCPUs, CoresPerSocket: cores, CoresPerNode: node}
				next, err := was.With(to)
				if cores > 0 && was.VCPUs%cores != 0 || node > 0 && was.VCPUs%node != 0 {
					if err == nil {
						t.Errorf("%s: %q is written", name, to)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %q: %v", name, to, err)
				}
				is, err := definition.Parse(next)
				if err != nil || is.Fixed != "" || is.String() != to.String() || is.Memory != was.Memory || bare(next) != bare(text) {
					t.Fatalf("%s: %q is written as\n%s\nand read as %+v, %v", name, to, next, is, err)
				}
				back, err := is.With(was.Setting)
				exact := to.CoresPerSocket == 0 || strings.Join(strings.Fields(back), "") == strings.Join(strings.Fields(text), "")
				if again, failed := definition.Parse(back); err != nil || failed != nil || again.String() != was.String() || bare(back) != bare(text) || !exact {
					t.Fatalf("%s: after %q and back, %v:\n%s", name, to, err, back)
				}
			}
		}
	}
}

func TestWhatIsWritten(t *testing.T) {
	all := foreign(t)
	for _, tc := range []struct {
		name        string
		cores, node int
		want        []string
	}{
		{"desktop", 2, 2, []string{"<topology sockets='2' dies='1' cores='2' threads='1'/>\n", "<feature policy='disable' name='svm'/>\n    <numa>\n      <cell id='0' cpus='0-1' memory='2097152' unit='KiB'/>\n      <cell id='1' cpus='2-3' memory='2097152' unit='KiB'/>\n    </numa>\n  </cpu>", `<lab:topology sockets="9">`, "passwd='geheim'"}},
		{"desktop", 0, 0, []string{"</model>\n    <feature policy='require' name='ssse3'/>"}},
		{"appliance", 8, 8, []string{"    <numa>\n      <cell id='0' cpus='0-7' memory='8388608' unit='KiB'/>\n    </numa>\n    <topology sockets='1' cores='8' threads='1'/>\n  </cpu>"}},
		{"appliance", 0, 0, []string{"<cpu mode='host-model' check='partial'/>\n"}},
		{"plain", 2, 2, []string{"<cpu>\n    <topology sockets='3' cores='2' threads='1'/>\n    <numa>", "cpus='2-3' memory='349184'", "cpus='4-5' memory='349184'", "  </cpu>\n</domain>"}},
		{"plain", 0, 1, []string{"cpus='5' memory='174080'"}},
	} {
		d, err := definition.Parse(all[tc.name])
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.With(topology.Setting{VCPUs: d.VCPUs, CoresPerSocket: tc.cores, CoresPerNode: tc.node})
		for _, want := range tc.want {
			if err != nil || !strings.Contains(text, want) {
				t.Errorf("%s, %d cores per socket, %d per node: %v, no %q in\n%s", tc.name, tc.cores, tc.node, err, want, text)
			}
		}
	}
}

// Definitions that must not be changed: a part of the plain one, its replacement, and the
// reason.
func TestDefinitionsThatStay(t *testing.T) {
	const cpu, memory, devices, end = "<os>", "<memory unit='KiB'>1048576</memory>", "<devices>", "</domain>"
	for _, tc := range []struct{ piece, by, want string }{
		{"type='qemu'", "type='lxc'", `of type "lxc"`},
		{"arch='x86_64' machine='pc'", "arch='s390x' machine='s390-ccw-virtio-7.2'", `of the architecture "s390x"`},
		{"machine='pc'", "machine='microvm'", `of the machine "microvm"`},
		{"<acpi/>", "<apic/>", "it has no ACPI"},
		{devices, `<metadata><n:instance xmlns:n="http://openstack.org/xmlns/libvirt/nova/1.1"/></metadata><devices>`, "OpenStack writes its definition at each start"},
		{devices, `<metadata><v:vm xmlns:v="http://ovirt.org/vm/1.0"/></metadata><devices>`, "oVirt writes"},
		{"<vcpu>", "<vcpu cpuset='0-3'>", "bound to processors of the host (cpuset"},
		{"<vcpu>", "<vcpu placement='auto'>", "numad chooses"},
		{"<vcpu>", "<vcpu current='4'>", "4 of its 6 vCPUs are plugged in"},
		{devices, "<vcpus><vcpu id='5' enabled='no' hotpluggable='yes'/></vcpus><devices>", "plugged in (vcpus)"},
		{devices, "<cputune><vcpupin vcpu='0' cpuset='1'/></cputune><devices>", "set by hand (vcpupin of cputune)"},
		{devices, "<cputune><shares>9</shares><emulatorpin cpuset='1'/></cputune><devices>", "(emulatorpin of cputune)"},
		{devices, "<cputune><cachetune vcpus='0-3'/></cputune><devices>", "(cachetune of cputune)"},
		{devices, "<numatune><memory mode='strict' nodeset='0'/></numatune><devices>", "bound to NUMA nodes of the host (numatune)"},
		{devices, "<maxMemory slots='4' unit='KiB'>9999999</maxMemory><devices>", "(maxMemory)"},
		{devices, "<devices><memory model='dimm'><target><size unit='KiB'>524288</size><node>0</node></target></memory>", "memory devices"},
		{devices, "<devices><controller type='pci' model='pcie-expander-bus'><target busNr='254'><node>0</node></target></controller>", "one of its NUMA nodes (controller)"},
		{devices, "<devices><hostdev mode='subsystem' type='pci'><acpi nodeset='0'/></hostdev>", "one of its NUMA nodes (hostdev)"},
		{devices, "<memoryBacking><hugepages><page size='2048' unit='KiB' nodeset='0'/></hugepages></memoryBacking><devices>", "(hugepages)"},
		{cpu, "<cpu><topology sockets='1' dies='1' cores='3' threads='2'/></cpu><os>", `set by hand (threads of "2")`},
		{cpu, "<cpu><topology sockets='1' dies='2' cores='3' threads='1'/></cpu><os>", `set by hand (dies of "2")`},
		{cpu, "<cpu><topology sockets='1' cores='3' threads='1'/></cpu><os>", "1 sockets of 3 cores for 6 vCPUs"},
		{cpu, "<cpu/><cpu/><os>", "several topologies"},
		{cpu, "<cpu><numa><cell id='0' cpus='0-3' memory='524288' unit='KiB'/><cell id='1' cpus='4-5' memory='524288' unit='KiB'/></numa></cpu><os>", "differ in size"},
		{cpu, "<cpu><numa><cell id='0' cpus='0-2' memory='524289' unit='KiB'/><cell id='1' cpus='3-5' memory='524287' unit='KiB'/></numa></cpu><os>", "differ in size"},
		{cpu, "<cpu><numa><cell id='0' cpus='0,2,4' memory='524288' unit='KiB'/><cell id='1' cpus='1,3,5' memory='524288' unit='KiB'/></numa></cpu><os>", "differ in size"},
		{cpu, "<cpu><numa><cell id='0' cpus='0-5' memory='1048576' unit='KiB' memAccess='shared'/></numa></cpu><os>", "(memAccess of a cell)"},
		{cpu, "<cpu><numa><cell id='0' cpus='0-5' memory='1048576' unit='KiB'><distances/></cell></numa></cpu><os>", "NUMA nodes are set by hand"},
		{cpu, "<cpu><numa><cell id='0' cpus='0-5' memory='1048576' unit='KiB'/><interconnects/></numa></cpu><os>", "NUMA nodes are set by hand"},
		{cpu, "<cpu><numa/></cpu><os>", "NUMA nodes are set by hand"},
		{cpu, "<cpu><numa><interconnects/></numa></cpu><os>", "NUMA nodes are set by hand"},
		{end, "<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'><q:arg value='-numa'/></q:commandline></domain>", "gives QEMU -numa itself"},
	} {
		text := strings.Replace(foreign(t)["plain"], tc.piece, tc.by, 1)
		d, err := definition.Parse(text)
		if err != nil || !strings.Contains(d.Fixed, tc.want) {
			t.Errorf("%s: %v, %+v; want %q", tc.by, err, d, tc.want)
			continue
		}
		if _, err := d.With(topology.Setting{VCPUs: d.VCPUs, CoresPerSocket: d.VCPUs}); err == nil {
			t.Errorf("%s: it was changed", tc.by)
		}
	}
	for backing, want := range map[string]string{
		"<hugepages/>": "its memory has 1 pages of 1024 MiB for 2 nodes",
		"<hugepages><page size='1' unit='GiB'/></hugepages>":    "its memory has 1 pages of 1024 MiB for 2 nodes",
		"<hugepages><page size='2048' unit='KiB'/></hugepages>": "",
	} {
		d, err := definition.Parse(strings.Replace(foreign(t)["plain"], memory, memory+"<memoryBacking>"+backing+"</memoryBacking>", 1))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.With(topology.Setting{VCPUs: 6, CoresPerSocket: 3, CoresPerNode: 3}); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", backing, err, want)
		}
	}
}

func FuzzDefinitions(f *testing.F) {
	for _, text := range foreign(f) {
		f.Add(text, 2, 2)
	}
	f.Add("<domain type='kvm'><os><type arch='x86_64' machine='q35'/></os><features><acpi/></features><memory>4096</memory><vcpu>4</vcpu><cpu mode='host-passthrough'/></domain>", 4, 0)
	f.Add("<domain type='kvm'><os><type arch='x86_64' machine='q35'/></os><features><acpi/></features><memory>4096</memory><vcpu>4</vcpu><cpu><numa><cell id='0' cpus='0-3' memory='4096' unit='KiB'/></numa></cpu></domain>", 0, 2)
	f.Fuzz(func(t *testing.T, text string, cores, node int) {
		d, err := definition.Parse(text)
		if err != nil {
			return
		}
		to := topology.Setting{VCPUs: d.VCPUs, CoresPerSocket: cores, CoresPerNode: node}
		next, err := d.With(to)
		if err != nil {
			return
		}
		is, err := definition.Parse(next)
		if err != nil || is.String() != to.String() || is.Fixed != "" || is.Memory != d.Memory {
			t.Fatalf("%q: %q is written as\n%s\nand read as %+v, %v", text, to, next, is, err)
		}
		back, err := is.With(d.Setting)
		if err != nil {
			t.Fatalf("%q after %q: %v", text, to, err)
		}
		if was, err := definition.Parse(back); err != nil || was.String() != d.String() || was.Memory != d.Memory {
			t.Errorf("%q after %q and back is\n%s", text, to, back)
		}
	})
}
