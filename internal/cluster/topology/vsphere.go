package topology

import (
	"fmt"
	"strconv"
)

// Field is one property of an API and its value.
type Field struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// VSphere is a recommendation as properties of a VM in vSphere 8.
type VSphere struct {
	Write []Field `json:"write"` // of a VirtualMachineConfigSpec, while the VM is powered off
	Read  []Field `json:"read"`  // of its config after the next power-on
}

// VSphere writes the recommendation for vSphere 8 and hardware version 20 or later. If vSphere
// would choose the same, the fields select automatic (0), which follows the hardware when the
// VM is moved while powered off. A read-back while the VM is powered off does not count.
//
// Nodes are given by their size, which must be a multiple or a divisor of the cores per
// socket; unequal sizes cannot be set, and stay automatic.
func (a Advice) VSphere() VSphere {
	var v VSphere
	write := func(path, value string) { v.Write = append(v.Write, Field{path, value}) }
	read := func(path, value string) { v.Read = append(v.Read, Field{path, value}) }
	number := strconv.Itoa

	cores, node := a.CoresPerSocket, a.coresPerNode()
	if a.Automatic {
		cores, node = 0, 0
	}
	write("numCPUs", number(a.VM.VCPUs))
	write("numCoresPerSocket", number(cores))
	write("virtualNuma.coresPerNumaNode", number(node))
	if a.VM.HotAdd {
		write("virtualNuma.exposeVnumaOnCpuHotadd", strconv.FormatBool(a.Options.ExposeOnHotAdd))
	}
	for _, f := range a.extra() {
		write(fmt.Sprintf("extraConfig[%q]", f.Path), f.Value)
	}
	read("config.hardware.numCPU", number(a.VM.VCPUs))
	read("config.hardware.autoCoresPerSocket", strconv.FormatBool(cores == 0))
	read("config.hardware.numCoresPerSocket", number(a.CoresPerSocket))
	read("config.numaInfo.autoCoresPerNumaNode", strconv.FormatBool(node == 0))
	if n := a.coresPerNode(); n > 0 {
		read("config.numaInfo.coresPerNumaNode", number(n))
	}
	if a.VM.HotAdd {
		read("config.numaInfo.vnumaOnCpuHotaddExposed", strconv.FormatBool(a.Options.ExposeOnHotAdd))
	}
	return v
}

// VMX writes the recommendation as lines of a vmx file for any release: with explicit numbers,
// though a newer release could choose them.
func (a Advice) VMX() []string {
	fields := []Field{
		{"numvcpus", strconv.Itoa(a.VM.VCPUs)},
		{"cpuid.coresPerSocket", strconv.Itoa(a.CoresPerSocket)},
	}
	if m := a.VM.Memory; m > 0 {
		fields = append(fields, Field{"memSize", strconv.FormatInt((m+mib-1)/mib, 10)})
	}
	if n := a.coresPerNode(); n > 0 {
		fields = append(fields, Field{"numa.vcpu.coresPerNode", strconv.Itoa(n)})
	}
	fields = append(fields, Field{"numa.autosize.vcpu.maxPerVirtualNode", strconv.Itoa(a.Nodes[0].VCPUs)})
	var lines []string
	for _, f := range append(fields, a.extra()...) {
		lines = append(lines, fmt.Sprintf("%s = %q", f.Path, f.Value))
	}
	return lines
}

// coresPerNode is the size of a node for vSphere; 0 if it cannot be set, or if the guest must
// not see several.
func (a Advice) coresPerNode() int {
	n := a.Nodes[0].VCPUs
	if len(a.Nodes) > 1 && !a.Exposed || n*len(a.Nodes) != a.VM.VCPUs || n%a.CoresPerSocket != 0 && a.CoresPerSocket%n != 0 {
		return 0
	}
	return n
}

// extra are the required advanced settings. The layout is evaluated again at every power-on,
// including the next restart of the guest.
func (a Advice) extra() []Field {
	var f []Field
	if a.Options.PreferHT {
		f = append(f, Field{"numa.vcpu.preferHT", "TRUE"})
	}
	if a.Exposed && a.VM.VCPUs < DefaultVNUMAMin {
		f = append(f, Field{"numa.vcpu.min", strconv.Itoa(min(a.VM.VCPUs, a.Unit))})
	}
	return append(f, Field{"numa.autosize.once", "FALSE"}, Field{"vmx.reboot.PowerCycle", "TRUE"})
}
