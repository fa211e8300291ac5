package vsphere_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/config"
)

func TestMigrationsUseTheirOwnLinks(t *testing.T) {
	nic := func(key string, gigabits int32) types.PhysicalNic {
		n := types.PhysicalNic{Key: key}
		if gigabits > 0 {
			n.LinkSpeed = &types.PhysicalNicLinkInfo{SpeedMb: gigabits * 1000}
		}
		return n
	}
	adapter := func(key, group, distributed string) types.HostVirtualNic {
		v := types.HostVirtualNic{Key: key, Portgroup: group}
		if distributed != "" {
			v.Spec.DistributedVirtualPort = &types.DistributedVirtualSwitchPortConnection{SwitchUuid: distributed}
		}
		return v
	}
	links := config.Links{
		Nics:     []types.PhysicalNic{nic("a", 100), nic("b", 10), nic("c", 25), nic("d", 0)},
		Switches: []types.HostVirtualSwitch{{Name: "vSwitch0", Pnic: []string{"a"}}, {Name: "vSwitch1", Pnic: []string{"b", "d"}}, {Name: "vSwitch2", Pnic: []string{"d"}}},
		Proxies:  []types.HostProxySwitch{{DvsUuid: "50 2e", Pnic: []string{"c"}}},
		Groups: []types.HostPortGroup{
			{Spec: types.HostPortGroupSpec{Name: "Management", VswitchName: "vSwitch0"}}, {Spec: types.HostPortGroupSpec{Name: "Migrations", VswitchName: "vSwitch1"}},
			{Spec: types.HostPortGroupSpec{Name: "Down", VswitchName: "vSwitch2"}},
		},
	}
	candidates := []types.HostVirtualNic{adapter("vmk0", "Management", ""), adapter("vmk1", "Migrations", ""), adapter("vmk2", "", "50 2e"), adapter("vmk3", "", "gone"), adapter("vmk4", "Down", "")}
	for name, c := range map[string]struct {
		selected []string
		want     int64 // Gbit/s
	}{
		"a standard switch":            {[]string{"vmk1"}, 10},
		"a distributed switch":         {[]string{"vmk2"}, 25},
		"both":                         {[]string{"vmk1", "vmk2"}, 25},
		"none selected":                {nil, 100},
		"a switch that is not known":   {[]string{"vmk3"}, 100},
		"a switch whose link is down":  {[]string{"vmk4"}, 100},
		"an adapter that is not known": {[]string{"vmk9"}, 100},
	} {
		links.Managers = []types.VirtualNicManagerNetConfig{
			{NicType: "management", CandidateVnic: candidates, SelectedVnic: []string{"vmk0"}}, {NicType: "vmotion", CandidateVnic: candidates, SelectedVnic: c.selected},
		}
		if got := links.Migration(); got != c.want*1_000_000_000 {
			t.Errorf("%s: %d bit/s, want %d Gbit/s", name, got, c.want)
		}
	}
	if got := (&config.Links{}).Migration(); got != 0 {
		t.Errorf("without links %d bit/s", got)
	}
	if l := config.LinksOf(nil); len(l.Nics) > 0 {
		t.Errorf("without a configuration %+v", l)
	}
}
