package guest

import (
	"errors"
	"testing"

	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/platform"
)

// A twin migrates and stays the same guest; one that is deployed beside it is gone afterwards.
func TestOperate(t *testing.T) {
	if err := qemu.MayPostcopy(); err != nil {
		t.Skip(err)
	}
	b := booted(t, func(s *spec.Guest) { s.Memory = 192 << 20 })
	twin := members(t, b, platform.Group{Name: "twin-migrate", Machines: 1})[0].(*machine)
	id, err := twin.ReadFile(t.Context(), "/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	first, before := twin.running.qemu.PID(), running(t, b)
	if err := b.Operate(t.Context(), platform.Migrate, twin, platform.Group{Name: "twin-migrate"}); err != nil {
		t.Fatal(err)
	}
	again, err := twin.ReadFile(t.Context(), "/proc/sys/kernel/random/boot_id")
	if err != nil || string(again) != string(id) || twin.running.qemu.PID() == first || running(t, b) != before || twin.Pending() != "" {
		t.Errorf("the guest was %s and is %s, %v; %d QEMUs run, %d did", id, again, err, running(t, b), before)
	}
	if err := b.Operate(t.Context(), platform.Deploy, nil, platform.Group{Name: "twin-deploy"}); err != nil {
		t.Fatal(err)
	}
	if got := running(t, b); got != before {
		t.Errorf("%d QEMUs run after a deployment, %d did before", got, before)
	}
	var refused *platform.Refused
	if err := b.Operate(t.Context(), platform.Snapshot, twin, platform.Group{}); !errors.As(err, &refused) {
		t.Errorf("snapshot: %v", err)
	}
}
