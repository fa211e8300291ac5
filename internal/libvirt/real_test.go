package libvirt_test

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
)

const machine = `<domain type='test'><name>tried</name><memory unit='MiB'>64</memory><vcpu>2</vcpu><os><type>hvm</type></os></domain>`

// The test driver of a real daemon plays the whole life of a domain.
func TestTheLifeOfADomain(t *testing.T) {
	d := libvirttest.Start(t)
	ctx := t.Context()
	c, err := libvirt.Dial(ctx, d.URI("test", "/default"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	version, err := c.LibraryVersion(ctx)
	must(err)
	hypervisor, err := c.HypervisorVersion(ctx)
	must(err)
	if version < 1e6 || hypervisor == 0 || !strings.Contains(version.String(), ".") {
		t.Errorf("versions %s, %s", version, hypervisor)
	}
	_, err = c.LookupName(ctx, "nobody")
	if !libvirt.Missing(err) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a domain that is not there: %v", err)
	}
	v, err := c.DefineXML(ctx, machine, libvirt.Validate)
	must(err)
	state := func(want libvirt.State) {
		t.Helper()
		if s, err := c.State(ctx, v); err != nil || s != want {
			t.Errorf("the domain is %s, %v; want %s", s, err, want)
		}
	}
	if _, err := c.DefineXML(ctx, strings.ReplaceAll(machine, "vcpu>", "cpus>"), libvirt.Validate); err == nil {
		t.Error("an element that libvirt does not know was taken")
	}
	state(libvirt.Off)
	all, err := c.Domains(ctx)
	if err != nil || len(all) != 2 {
		t.Errorf("domains %+v, %v: want the driver's own and ours", all, err)
	}
	must(c.Undefine(ctx, v))
	if _, err := c.State(ctx, v); !libvirt.Missing(err) {
		t.Errorf("a domain that was forgotten: %v", err)
	}
	v, err = c.CreateXML(ctx, machine, 0)
	must(err)
	state(libvirt.Running)
	found, err := c.LookupName(ctx, "tried")
	must(err)
	if found.UUID != v.UUID || found.ID < 0 {
		t.Errorf("found %+v", found)
	}
	if s, err := c.Statistics(ctx, v, libvirt.StateStatistics); err != nil || s["state.state"] != float64(libvirt.Running) {
		t.Errorf("statistics %v, %v", s, err)
	}
	if _, err := c.OpenChannel(ctx, v, "plimsoll"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the test driver has no channels: %v", err)
	}
	must(c.Destroy(ctx, v))
	if err := c.Destroy(ctx, v); !libvirt.Missing(err) {
		t.Errorf("a domain that has ended was destroyed: %v", err)
	}
}
