package topology

import (
	"fmt"
	"strings"
)

// Libvirt writes the recommendation as elements of a libvirt domain, which replace its memory,
// vcpu and cpu. The host's cache is passed through, so that the guest sees its actual size.
// Errors are those of QEMU.
func (a Advice) Libvirt() (string, error) {
	cells, err := a.cells()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("<memory unit='MiB'>%d</memory>", a.VM.Memory/mib)
	line("<vcpu placement='static'>%d</vcpu>", a.VM.VCPUs)
	line("<cpu mode='host-passthrough'>")
	dies := a.dies()
	line("  <topology sockets='%d' dies='%d' clusters='1' cores='%d' threads='1'/>", a.Sockets, dies, a.CoresPerSocket/dies)
	line("  <cache mode='passthrough'/>")
	line("  <numa>")
	for i, c := range cells {
		line("    <cell id='%d' cpus='%s' memory='%d' unit='MiB'/>", i, c.cpus(), c.mib)
	}
	line("  </numa>")
	line("</cpu>")
	return b.String(), nil
}
