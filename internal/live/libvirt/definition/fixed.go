package definition

import (
	"fmt"
	"slices"
	"strings"
)

// owners are programs that rewrite the definitions of their domains at each start.
var owners = []struct{ space, advice string }{
	{"openstack.org/xmlns/libvirt/nova", "OpenStack writes its definition at each start: change its flavor"},
	{"ovirt.org/vm", "oVirt writes its definition at each start: change the VM there"},
	{"opennebula.org/xmlns/libvirt", "OpenNebula writes its definition at each start: change its template"},
	{"kubevirt.io", "KubeVirt writes its definition at each start: change the VirtualMachine"},
}

// fixed is why the topology must not be changed.
func (d *Domain) fixed() string {
	for _, look := range []func(*Domain) string{(*Domain).owned, (*Domain).blind, (*Domain).bound, (*Domain).plugged, (*Domain).attached, (*Domain).shaped, (*Domain).listed} {
		if why := look(d); why != "" {
			return why
		}
	}
	return ""
}

// owned: another program decides.
func (d *Domain) owned() string {
	if !d.Cells {
		return fmt.Sprintf("it is a domain of type %.20q, and only those of QEMU are changed", d.root.value("type"))
	}
	if m := d.root.find("metadata"); m != nil {
		for _, e := range m.children {
			for _, o := range owners {
				if strings.Contains(e.Name.Space, o.space) {
					return o.advice
				}
			}
		}
	}
	for _, e := range d.root.children {
		if e.Name.Local != "commandline" {
			continue
		}
		for _, arg := range e.children {
			for _, a := range arg.Attr {
				if a.Name.Local == "value" && (a.Value == "-smp" || a.Value == "-numa") {
					return fmt.Sprintf("its definition gives QEMU %s itself", a.Value)
				}
			}
		}
	}
	return ""
}

// blind: its hardware has no NUMA nodes, or cannot report them to the guest.
func (d *Domain) blind() string {
	kind := d.root.find("os", "type")
	arch, machine := kind.value("arch"), kind.value("machine")
	x86 := arch == "x86_64" || arch == "i686"
	switch {
	case !x86 && arch != "aarch64":
		return fmt.Sprintf("plimsoll does not know NUMA nodes of the architecture %.20q", arch)
	case !slices.ContainsFunc([]string{"pc", "q35", "virt"}, func(known string) bool { return strings.HasPrefix(machine, known) }):
		return fmt.Sprintf("plimsoll does not know NUMA nodes of the machine %.40q", machine)
	case x86 && d.root.find("features", "acpi") == nil:
		return "it has no ACPI, by which a guest learns of its NUMA nodes (features)"
	}
	return ""
}

// Settings of cputune without CPU affinity.
var weights = []string{"shares", "period", "quota", "global_period", "global_quota", "emulator_period", "emulator_quota", "iothread_period", "iothread_quota"}

// bound: it is bound to processors or memory of the host.
func (d *Domain) bound() string {
	vcpu := d.root.find("vcpu")
	switch {
	case vcpu.value("cpuset") != "":
		return "its vCPUs are bound to processors of the host (cpuset of vcpu)"
	case vcpu.value("placement") == "auto":
		return "numad chooses its processors (placement of vcpu)"
	case d.root.find("numatune") != nil:
		return "its memory is bound to NUMA nodes of the host (numatune)"
	}
	if tune := d.root.find("cputune"); tune != nil {
		for _, e := range tune.children {
			if !slices.Contains(weights, e.Name.Local) {
				return fmt.Sprintf("its processors are set by hand (%.20s of cputune)", e.Name.Local)
			}
		}
	}
	return ""
}

// plugged: vCPUs or memory can be added while it runs.
func (d *Domain) plugged() string {
	switch {
	case d.VCPUs != d.most:
		return fmt.Sprintf("%d of its %d vCPUs are plugged in", d.VCPUs, d.most)
	case slices.ContainsFunc(d.root.find("vcpus").all("vcpu"), func(v *element) bool { return v.value("enabled") == "no" }):
		return "not all of its vCPUs are plugged in (vcpus)"
	case d.root.find("maxMemory") != nil:
		return "memory can be added to its NUMA nodes while it runs (maxMemory)"
	}
	return ""
}

// attached: a device or setting belongs to a node of the guest.
func (d *Domain) attached() (why string) {
	for _, p := range d.root.find("memoryBacking", "hugepages").all("page") {
		if p.value("nodeset") != "" {
			return "its huge pages belong to certain NUMA nodes (hugepages)"
		}
	}
	devices := d.root.find("devices")
	if devices == nil {
		return ""
	}
	for _, device := range devices.children {
		if device.Name.Local == "memory" {
			return "it has memory devices, which belong to NUMA nodes"
		}
		device.descend(func(e *element) {
			if e.Name.Local == "node" || e.value("nodeset") != "" {
				why = fmt.Sprintf("a device belongs to one of its NUMA nodes (%.20s)", device.Name.Local)
			}
		})
	}
	return why
}

// shaped: its topology has levels that a change would have to invent or drop.
func (d *Domain) shaped() string {
	if len(d.root.all("cpu")) > 1 || len(d.root.find("cpu").all("topology")) > 1 || len(d.root.find("cpu").all("numa")) > 1 {
		return "its definition has several topologies"
	}
	t := d.root.find("cpu", "topology")
	if t == nil {
		return ""
	}
	for _, level := range []string{"dies", "clusters", "threads"} {
		if v := t.value(level); v != "" && v != "1" {
			return fmt.Sprintf("its topology is set by hand (%s of %.10q)", level, v)
		}
	}
	sockets, cores := number(t.value("sockets")), number(t.value("cores"))
	if sockets*cores != d.most || len(t.children) > 0 {
		return fmt.Sprintf("its topology has %d sockets of %d cores for %d vCPUs", sockets, cores, d.most)
	}
	return ""
}

// listed: its nodes are unequal, or have settings of their own.
func (d *Domain) listed() string {
	numa := d.root.find("cpu", "numa")
	if numa == nil {
		return ""
	}
	const byHand = "its NUMA nodes are set by hand (numa)"
	if d.CoresPerNode == 0 || len(numa.Attr) > 0 {
		return byHand
	}
	want, err := d.cells(d.CoresPerNode)
	if err != nil || len(want) != len(numa.children) {
		return byHand
	}
	for i, e := range numa.children {
		for _, a := range e.Attr {
			if a.Name.Space != "" || !slices.Contains([]string{"id", "cpus", "memory", "unit"}, a.Name.Local) {
				return fmt.Sprintf("its NUMA nodes are set by hand (%.20s of a cell)", a.Name.Local)
			}
		}
		if e.Name.Local != "cell" || len(e.children) > 0 || e.value("id") != fmt.Sprint(i) || e.value("unit") != "KiB" {
			return byHand
		}
		if e.value("cpus") != want[i].cpus || e.value("memory") != fmt.Sprint(want[i].kib) {
			return "its NUMA nodes differ in size"
		}
	}
	return ""
}
