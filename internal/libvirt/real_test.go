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
	if name, err := c.Hostname(ctx); err != nil || name == "" {
		t.Errorf("hostname %q, %v", name, err)
	}
	if xml, err := c.Capabilities(ctx); err != nil || !strings.Contains(xml, "<guest>") {
		t.Errorf("capabilities %.80q, %v", xml, err)
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
	must(c.Start(ctx, v))
	state(libvirt.Running)
	found, err := c.LookupUUID(ctx, v.UUID)
	must(err)
	if found.Name != "tried" || found.ID < 0 {
		t.Errorf("found %+v", found)
	}
	all, err := c.Domains(ctx)
	if err != nil || len(all) != 2 {
		t.Errorf("domains %+v, %v: want the driver's own and ours", all, err)
	}
	must(c.Pin(ctx, v, 1, []int{0}))
	cpus, err := c.VCPUs(ctx, v)
	if err != nil || len(cpus) != 2 || len(cpus[1].Pin) != 1 || cpus[1].Pin[0] != 0 {
		t.Errorf("vCPUs %+v, %v", cpus, err)
	}
	if s, err := c.Statistics(ctx, v, libvirt.StateStatistics); err != nil || s["state.state"] != float64(libvirt.Running) {
		t.Errorf("statistics %v, %v", s, err)
	}
	if _, err := c.OpenChannel(ctx, v, "plimsoll"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the test driver has no channels: %v", err)
	}
	must(c.Shutdown(ctx, v))
	state(libvirt.Off)
	must(c.Start(ctx, v))
	must(c.Destroy(ctx, v))
	state(libvirt.Off)
	if err := c.Destroy(ctx, v); err == nil {
		t.Error("a domain that is off was destroyed")
	}
	must(c.Undefine(ctx, v))
	if _, err := c.State(ctx, v); !libvirt.Missing(err) {
		t.Errorf("a domain that was forgotten: %v", err)
	}
}
