package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// Libvirt writes the advice as elements of a libvirt domain, to be put in place of its
// memory, vcpu, cputune, numatune and cpu. The cache of the host is passed through, so
// that the guest sees the size that is there. Pins and memory policies appear where the
// places are given. Errors are those of QEMU.
func (a Advice) Libvirt(k KVM) (string, error) {
	cells, err := a.cells(k)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("<memory unit='MiB'>%d</memory>", a.VM.Memory/mib)
	line("<vcpu placement='static'>%d</vcpu>", a.VM.VCPUs)
	a.pins(k, line)
	if len(k.Places) > 0 {
		memoryPolicy(cells, line)
	}
	line("<cpu mode='host-passthrough'>")
	l := a.levels(k.Arm)
	line("  <topology sockets='%d' dies='%d' clusters='%d' cores='%d' threads='1'/>", l.sockets, l.dies, l.clusters, l.cores)
	if !k.Arm { // libvirt knows this for x86 only
		line("  <cache mode='passthrough'/>")
	}
	line("  <numa>")
	for i, c := range cells {
		if k.Distance == 0 || len(cells) == 1 {
			line("    <cell id='%d' cpus='%s' memory='%d' unit='MiB'/>", i, c.cpus(), c.mib)
			continue
		}
		line("    <cell id='%d' cpus='%s' memory='%d' unit='MiB'>", i, c.cpus(), c.mib)
		line("      <distances>")
		for j := range cells {
			d := k.Distance
			if i == j {
				d = nearest
			}
			line("        <sibling id='%d' value='%d'/>", j, d)
		}
		line("      </distances>")
		line("    </cell>")
	}
	line("  </numa>")
	line("</cpu>")
	return b.String(), nil
}

// pins keeps each vCPU on the CPUs of its node, and the emulator on those of all nodes.
func (a Advice) pins(k KVM, line func(string, ...any)) {
	var all []string
	for _, p := range k.Places {
		if p.CPUs == "" {
			return
		}
		all = append(all, p.CPUs)
	}
	if len(all) == 0 {
		return
	}
	line("<cputune>")
	vcpu := 0
	for i, n := range a.Nodes {
		for range n.VCPUs {
			line("  <vcpupin vcpu='%d' cpuset='%s'/>", vcpu, k.Places[i].CPUs)
			vcpu++
		}
	}
	line("  <emulatorpin cpuset='%s'/>", strings.Join(all, ","))
	line("</cputune>")
}

func memoryPolicy(cells []cell, line func(string, ...any)) {
	var all []string
	for _, c := range cells {
		for _, h := range c.hosts {
			all = append(all, strconv.Itoa(h))
		}
	}
	mode := "strict"
	if len(cells) == 1 && len(all) > 1 {
		mode = "interleave"
	}
	line("<numatune>")
	line("  <memory mode='%s' nodeset='%s'/>", mode, strings.Join(all, ","))
	if mode == "strict" {
		for i, c := range cells {
			line("  <memnode cellid='%d' mode='strict' nodeset='%d'/>", i, c.hosts[0])
		}
	}
	line("</numatune>")
}
