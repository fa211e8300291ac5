package vsphere_test

import (
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/config"
)

func TestState(t *testing.T) {
	const silent, connected = types.HostSystemConnectionStateNotResponding, types.HostSystemConnectionStateConnected
	for _, c := range []struct {
		power                   types.HostSystemPowerState
		connection              types.HostSystemConnectionState
		maintenance, quarantine bool
		want                    cluster.HostState
	}{
		{"", connected, false, false, cluster.Connected},
		{"", connected, true, true, cluster.Maintenance},
		{"", connected, false, true, cluster.Quarantined},
		{"", silent, true, false, cluster.Failed},
		{"", types.HostSystemConnectionStateDisconnected, true, false, cluster.Quarantined},
		{types.HostSystemPowerStateStandBy, silent, false, false, cluster.Standby},
	} {
		if got := config.State(c.power, c.connection, c.maintenance, c.quarantine); got != c.want {
			t.Errorf("%+v is %s", c, got)
		}
	}
}
