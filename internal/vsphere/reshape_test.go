package vsphere_test

import (
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/vspheretest"
)

// A VM that is off gets another topology and its former one back; one that runs, or that somebody
// changed, gets none.
func TestReshape(t *testing.T) {
	t.Parallel()
	c := lab(2, 6)
	off := c.VMs[0].Name
	c.VMs[0].Host, c.VMs[0].VCPUs, c.VMs[0].CoresPerSocket = cluster.Nowhere, 12, 1
	runs := ""
	for i := range c.VMs {
		if c.VMs[i].Host != cluster.Nowhere {
			runs = c.VMs[i].Name
		}
	}
	s := connect(t, simulated(t, c))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	shapes := func() map[string]live.Shape {
		t.Helper()
		now, err := s.Shaper.Shapes(t.Context(), []string{off, runs, "nobody"})
		if err != nil {
			t.Fatal(err)
		}
		return now
	}
	now := shapes()
	was := now[off].Setting
	if len(now) != 2 || now[off].Busy != "" || !now[off].Automatic || now[runs].Busy != "it runs" || was.String() != "vcpus=12 cores-per-socket=1 cores-per-node=auto" {
		t.Fatalf("shapes %+v", now)
	}
	settings := []topology.Setting{
		{VCPUs: 12, Advanced: map[string]string{"numa.autosize.once": "FALSE"}},
		{VCPUs: 12, CoresPerSocket: 6, CoresPerNode: 6, HotAdd: true, ShowOnHotAdd: true, Advanced: map[string]string{"numa.autosize.once": "FALSE", "numa.vcpu.preferHT": "TRUE"}},
		{VCPUs: 12, CoresPerSocket: 4, Advanced: map[string]string{"numa.vcpu.min": "8"}},
		was,
	}
	for _, to := range settings {
		if err := s.Shaper.Reshape(t.Context(), off, shapes()[off].Setting, to); err != nil {
			t.Fatal(err)
		}
		if got := shapes()[off]; got.String() != to.String() {
			t.Errorf("it has %q, not %q", got.Setting, to)
		}
	}
	if err := s.Shaper.Reshape(t.Context(), off, settings[1], settings[0]); err == nil || !strings.Contains(err.Error(), "somebody changed it") || shapes()[off].String() != was.String() {
		t.Errorf("changed meanwhile: %v", err)
	}
	running := now[runs].Setting
	if err := s.Shaper.Reshape(t.Context(), runs, running, topology.Setting{VCPUs: running.VCPUs, CoresPerSocket: running.VCPUs}); err == nil || !strings.Contains(err.Error(), "it runs") {
		t.Errorf("while it runs: %v", err)
	}
	if err := s.Shaper.Reshape(t.Context(), "nobody", was, settings[0]); err == nil || !strings.Contains(err.Error(), "no VM nobody") {
		t.Errorf("without a VM: %v", err)
	}
	if missing, err := s.Hand.Missing(t.Context(), live.Reshape); err != nil || len(missing) > 0 {
		t.Errorf("missing %q, %v", missing, err)
	}
}

// Replies that are lost do not matter: what the VM has decides.
func TestAReshapeWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	vc := vspheretest.Start(t, 1, 1)
	vm := vc.Model.Map().Any("VirtualMachine")
	p := vc.Proxy(t)
	s := connect(t, p.Address(t))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	vc.PowerOff(t, vm.Reference())
	now, err := s.Shaper.Shapes(t.Context(), []string{"DC0_C0_RP0_VM0"})
	if err != nil || now["DC0_C0_RP0_VM0"].Automatic {
		t.Fatalf("%+v, %v", now, err)
	}
	was := now["DC0_C0_RP0_VM0"].Setting
	for _, trouble := range []disturbance.Kind{disturbance.LoseReply, disturbance.Truncate} {
		to := was
		to.Advanced = map[string]string{"numa.autosize.vcpu.maxPerVirtualNode": "1"}
		if trouble == disturbance.Truncate {
			was, to = to, was
		}
		struck := false
		p.Disturb(func(method string) disturbance.Kind {
			if method == "ReconfigVM_Task" && !struck {
				struck = true
				return trouble
			}
			return disturbance.None
		})
		if err := s.Shaper.Reshape(t.Context(), "DC0_C0_RP0_VM0", was, to); err != nil || !struck {
			t.Errorf("%s: %v", trouble, err)
		}
	}
}
