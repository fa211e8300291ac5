package config

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// Links are the physical network links of a host, and the adapters of migrations.
type Links struct {
	Nics     []types.PhysicalNic
	Switches []types.HostVirtualSwitch
	Proxies  []types.HostProxySwitch // of distributed switches
	Groups   []types.HostPortGroup
	Managers []types.VirtualNicManagerNetConfig
}

// LinksOf are the links in the configuration of a host; none without one.
func LinksOf(c *types.HostConfigInfo) (l Links) {
	if c == nil {
		return l
	}
	if n := c.Network; n != nil {
		l.Nics, l.Switches, l.Proxies, l.Groups = n.Pnic, n.Vswitch, n.ProxySwitch, n.Portgroup
	}
	if m := c.VirtualNicManagerInfo; m != nil {
		l.Managers = m.NetConfig
	}
	return l
}

// Migration is the speed of the fastest active link for migrations, in bit/s. If the host does
// not report which links these are, it is that of the fastest link.
func (l *Links) Migration() (speed int64) {
	keys := l.migrating()
	for _, n := range l.Nics {
		if slices.Contains(keys, n.Key) {
			speed = max(speed, speedOf(n))
		}
	}
	if speed > 0 {
		return speed
	}
	for _, n := range l.Nics {
		speed = max(speed, speedOf(n))
	}
	return speed
}

func speedOf(n types.PhysicalNic) int64 {
	if n.LinkSpeed == nil {
		return 0
	}
	return int64(n.LinkSpeed.SpeedMb) * megabit
}

// migrating are the keys of the links of adapters selected for vMotion.
func (l *Links) migrating() (keys []string) {
	for _, m := range l.Managers {
		if m.NicType != string(types.HostVirtualNicManagerNicTypeVmotion) {
			continue
		}
		for i := range m.CandidateVnic {
			if slices.Contains(m.SelectedVnic, m.CandidateVnic[i].Key) {
				keys = append(keys, l.below(&m.CandidateVnic[i])...)
			}
		}
	}
	return keys
}

// below are the keys of the links of an adapter's switch.
func (l *Links) below(v *types.HostVirtualNic) []string {
	if port := v.Spec.DistributedVirtualPort; port != nil {
		for i := range l.Proxies {
			if l.Proxies[i].DvsUuid == port.SwitchUuid {
				return l.Proxies[i].Pnic
			}
		}
		return nil
	}
	for _, g := range l.Groups {
		if g.Spec.Name != v.Portgroup {
			continue
		}
		for i := range l.Switches {
			if l.Switches[i].Name == g.Spec.VswitchName {
				return l.Switches[i].Pnic
			}
		}
	}
	return nil
}
