package inventory

import (
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// mostNumber is the maximum number of a name that is avoided.
const mostNumber = 1 << 40

// avoid numbers objects beyond all names that look like identifiers, such as vm-42: clients
// that accept both, such as govc, would find another VM.
func (b *builder) avoid(clusters []*cluster.Cluster) error {
	most := int64(0)
	see := func(name string) {
		if i := strings.LastIndexByte(name, '-'); i >= 0 {
			if n, err := strconv.ParseInt(name[i+1:], 10, 64); err == nil && n <= mostNumber {
				most = max(most, n)
			}
		}
	}
	for _, c := range clusters {
		see(c.Name)
		for i := range c.VMs {
			see(c.VMs[i].Name)
		}
		for i := range c.Hosts {
			see(c.Hosts[i].Name)
		}
		for i := range c.Pools {
			see(c.Pools[i].Name)
		}
		for _, list := range [][]string{c.Networks, c.Datastores} {
			for _, name := range list {
				see(name)
			}
		}
	}
	last := &simulator.VirtualMachine{}
	last.Self = types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-" + strconv.FormatInt(most, 10)}
	if most == 0 || b.reg.Get(last.Self) != nil {
		return nil
	}
	b.reg.Put(last)
	defer b.reg.Remove(b.context(), last.Self)
	return b.reg.AlignCounter()
}
