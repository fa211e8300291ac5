package guest

import (
	"strings"
	"testing"

	"plimsoll/internal/guest/capacity"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/guest/supply"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
)

// What cannot be is refused before anything boots, with the group that asked for it.
func TestGroupsAreChecked(t *testing.T) {
	s := kind().Defaults.(spec.Guest)
	b, err := newTestbed(supply.Supply{}, s, local.Kind(), platform.Kind{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.capacity = capacity.New(b.home.Path, capacity.Host{
		Memory: func() (int64, error) { return 1 << 30, nil }, Disk: func(string) (int64, error) { return 1 << 40, nil },
		Resident: func(int) int64 { return 0 }, Blocks: func(string) int64 { return 0 },
	})
	for _, c := range []struct {
		group platform.Group
		want  string
	}{
		{platform.Group{Name: "server"}, "0 VMs of group server: must be 1 or more"},
		{platform.Group{Name: "server", Machines: 1, Settings: parameter.Settings{"sails": "3"}}, "settings of group server"},
		{platform.Group{Name: "server", Machines: 1, Settings: parameter.Settings{"vcpus": "3", "nodes": "2"}}, "settings of group server: nodes"},
		{platform.Group{Name: "client", Machines: 4}, "memory: 1.2 GiB in total, including QEMU, 0.2 GiB more than this host has free"},
	} {
		if _, err := b.Members(t.Context(), c.group); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.group, err, c.want)
		}
	}
	if _, err := b.Machine().(*machine).Address(t.Context()); err == nil || !strings.Contains(err.Error(), "network: true") {
		t.Errorf("a guest without a network has an address: %v", err)
	}
}

func TestEachGuestHasAnAddress(t *testing.T) {
	seen := map[string]bool{}
	for n := 1; n <= mostAddresses; n++ {
		a := addressOf(n)
		if b := a.As4(); b[0] != 10 || b[1] != 198 || b[3] == 0 || b[3] == 255 || seen[a.String()] || seen[cardOf(n)] {
			t.Fatalf("guest %d has %s and %s", n, a, cardOf(n))
		}
		seen[a.String()], seen[cardOf(n)] = true, true
	}
}
