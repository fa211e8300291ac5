package vsphere_test

import (
	"context"
	"errors"
	"testing"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/vspheretest"
)

func TestAClusterIsReadAndChanged(t *testing.T) {
	vc := vspheretest.Start(t, 3, 2)
	c, err := vsphere.Kind().Open(t.Context(), vc.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	enough := errors.New("enough")
	var first live.Step
	err = c.Source.Watch(t.Context(), func(s live.Step) error {
		first = s
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	got := first.Cluster
	if got.Name != "DC0_C0" || len(got.Hosts) != 3 || len(got.VMs) != 6 || len(got.Pools) != 1 {
		t.Fatalf("read cluster %s with %d hosts, %d VMs, %d pools", got.Name, len(got.Hosts), len(got.VMs), len(got.Pools))
	}
	if missing, err := c.Hand.Missing(t.Context(), live.Move); err != nil || len(missing) != 0 {
		t.Errorf("privileges missing: %q, %v", missing, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Hand.Maintain(ctx, got.Hosts[0].Name, true); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context, maintenance gives %v", err)
	}
}
