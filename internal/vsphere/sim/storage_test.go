package sim_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/pbm"
	pbmmethods "github.com/vmware/govmomi/pbm/methods"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/difftest"
	"plimsoll/internal/live"
	"plimsoll/internal/load"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/compliance"
	"plimsoll/internal/vsphere/envelope"
	vcenter "plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/workload/compliance/subject"
)

// stored is a cluster, and the storage policies of its VMs: one of each form, and objects of each status.
func stored(seed uint64, vms int) (*cluster.Cluster, *policy.Inventory) {
	spec := generate.Typical(3, seed)
	spec.Name, spec.VMs, spec.Datastores, spec.Rules = "C0", vms, 4, 0
	c, _ := generate.Cluster(spec)
	n := func(n int64) *int64 { return &n }
	inv := &policy.Inventory{Policies: []policy.Policy{
		{Name: "any", Generation: 1},
		{Name: "gold", Generation: 4, Sets: []policy.RuleSet{
			{Name: "fast", Rules: []policy.Rule{
				{Capability: "tag.tier", Is: policy.OneOf, Value: policy.Value{Set: []string{"gold", "platinum"}}},
				{Capability: "vsan.failures", Is: policy.Equals, Value: policy.Value{Number: n(1)}},
			}},
			{Name: "slow", Rules: []policy.Rule{{Capability: "store.kind", Is: policy.Equals, Value: policy.Value{Text: "file"}}}},
		}},
		{Name: "near", Generation: 2, Sets: []policy.RuleSet{{Rules: []policy.Rule{
			{Capability: "store.latency", Is: policy.Within, Value: policy.Value{To: n(900)}}, {Capability: "tag.site", Is: policy.Not, Value: policy.Value{Text: "far away"}},
		}}}},
	}}
	for i, name := range c.Datastores {
		d := policy.Datastore{Name: name, Generation: int64(i)}
		switch i % 4 {
		case 0:
			d.Tags = map[string][]string{"tier": {"gold", "silver"}}
			d.Capabilities = []policy.Capability{{Name: "vsan.failures", Value: policy.Value{From: n(0), To: n(2)}}, {Name: "store.latency", Value: policy.Value{Number: n(500)}}}
		case 1:
			d.Capabilities = []policy.Capability{{Name: "store.latency", Value: policy.Value{Number: n(5000)}}, {Name: "store.kind", Value: policy.Value{Text: "block"}}}
			d.Tags = map[string][]string{"site": {"far away"}}
		case 2:
			d.Silent = true
		}
		if d.Capabilities == nil {
			d.Generation = 0 // it is that of the capabilities
		}
		inv.Datastores = append(inv.Datastores, d)
	}
	slices.SortFunc(inv.Datastores, func(a, b policy.Datastore) int { return strings.Compare(a.Name, b.Name) })
	for i := range c.VMs {
		v := &c.VMs[i]
		if len(v.Datastores) == 0 {
			v.Datastores = []int32{int32(i % len(c.Datastores))}
		}
		made := policy.VM{Name: v.Name}
		for k, d := range v.Datastores {
			p := inv.Policies[(i+k)%3]
			o := policy.Object{Name: fmt.Sprintf("scsi0:%d", k), Datastore: c.Datastores[d], Policy: p.Name, Applied: p.Generation}
			if i%7 == 3 {
				o.Applied--
			}
			if i%5 == 4 {
				o.Policy, o.Applied = "", 0
			}
			made.Disks = append(made.Disks, o)
		}
		made.Home = made.Disks[0]
		made.Home.Name = ""
		v.Policy = made.Home.Policy
		inv.VMs = append(inv.VMs, made)
	}
	slices.SortFunc(inv.VMs, func(a, b policy.VM) int { return strings.Compare(a.Name, b.Name) })
	return c, inv
}

// hosted serves a cluster with storage policies.
func hosted(t *testing.T, o sim.Options) *sim.Server {
	t.Helper()
	o.Listen, o.User, o.Password, o.Folder = "127.0.0.1:0", "operator", "secret", t.TempDir()
	s, err := sim.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial connects to a simulator as to any live cluster. The caller closes the connection.
func dial(t *testing.T, s *sim.Server) live.Connection {
	t.Helper()
	address, err := live.ParseAddress("vsphere://operator@" + s.URL().Host + "/?password=env:SIM_PASSWORD&thumbprint=" + s.Thumbprints().SHA256)
	if err != nil {
		t.Fatal(err)
	}
	c, err := vsphere.Kind().Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connected serves a cluster, and connects to it as to any live one.
func connected(t *testing.T, o sim.Options) (*sim.Server, live.Connection) {
	t.Helper()
	s := hosted(t, o)
	c := dial(t, s)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, c
}

// policiesOf reads the policies of a simulator.
func policiesOf(t *testing.T, s *sim.Server) *policy.Inventory {
	t.Helper()
	c := dial(t, s)
	inv, err := c.Policies(t.Context())
	if err = errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return inv
}

// Policies, capabilities, tags and what VMs have of them come out of vSphere's interface as they went in.
func TestPoliciesComeOutAsTheyWentIn(t *testing.T) {
	t.Parallel()
	c, want := stored(3, 40)
	_, connection := connected(t, sim.Options{Clusters: []*cluster.Cluster{c}, Storage: want})
	got, err := connection.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if lines := difftest.Lines(got, want); lines != "" {
		t.Error(lines)
	}
	if missing, err := connection.Hand.Missing(context.Background(), live.Comply); err != nil || len(missing) > 0 {
		t.Errorf("the operator lacks %v, %v", missing, err)
	}
}

// A session that has expired is replaced, and the policies are read.
func TestPoliciesAfterTheSessionExpired(t *testing.T) {
	t.Parallel()
	c, inv := stored(3, 6)
	set, err := fault.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, connection := connected(t, sim.Options{Clusters: []*cluster.Cluster{c}, Storage: inv, Faults: set})
	client := connect(t, s)
	if err := set.Add([]string{"session=expire@0s"}, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the sessions expire", func() bool {
		_, err := methods.GetCurrentTime(t.Context(), client.Client)
		return err != nil
	})
	if got, err := connection.Policies(t.Context()); err != nil || len(got.VMs) != len(c.VMs) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A cluster file names policies alone: they ask nothing.
func TestPoliciesOfAClusterFile(t *testing.T) {
	t.Parallel()
	c, _ := stored(4, 12)
	_, connection := connected(t, sim.Options{Clusters: []*cluster.Cluster{c}})
	got, err := connection.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]policy.VM{}
	for _, v := range got.VMs {
		of[v.Name] = v
	}
	for i := range c.VMs {
		v := of[c.VMs[i].Name]
		for _, o := range append([]policy.Object{v.Home}, v.Disks...) {
			if o.Policy != c.VMs[i].Policy {
				t.Errorf("%s has %q, want %q", v.Name, o.Policy, c.VMs[i].Policy)
			}
		}
	}
}

func TestWrongStorage(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*policy.Inventory){
		"lists the VM ghost":          func(i *policy.Inventory) { i.VMs[0].Name = "ghost" },
		"lists the datastore nowhere": func(i *policy.Inventory) { i.Datastores[0].Name = "nowhere" },
		"it has no disk scsi0:9":      func(i *policy.Inventory) { i.VMs[0].Disks[0].Name = "scsi0:9" },
		"not on elsewhere":            func(i *policy.Inventory) { i.VMs[0].Home.Datastore = "elsewhere" },
		"no storage policy lead":      func(i *policy.Inventory) { i.VMs[0].Home.Policy = "lead" },
	} {
		c, inv := stored(5, 4)
		change(inv)
		s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Storage: inv, Listen: "127.0.0.1:0", Folder: t.TempDir()})
		if err == nil {
			err = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A simulator that was saved and loaded has the same policies, also those of a VM that was cloned, and
// works on with them.
func TestPoliciesOfASavedState(t *testing.T) {
	t.Parallel()
	c, inv := stored(3, 12)
	s := hosted(t, sim.Options{Clusters: []*cluster.Cluster{c}, Storage: inv})
	d := &policies{bed: &bed{t, connect(t, s), context.Background()}}
	var err error
	if d.pbm, err = pbm.NewClient(t.Context(), d.Client.Client); err != nil {
		t.Fatal(err)
	}
	d.clone(object.NewVirtualMachine(d.Client.Client, d.machines()[1].Self), "copy", d.spec("near"))
	before := policiesOf(t, s)
	loaded, _, _ := again(t, s)
	after := policiesOf(t, loaded)
	if lines := difftest.Lines(after, before); lines != "" {
		t.Error(lines)
	}
	for _, v := range after.VMs {
		if v.Name == "copy" && v.Home.Policy != "near" {
			t.Errorf("the copy has %q", v.Home.Policy)
		}
	}
}

// Replies of the endpoint of storage policies are read without the general reader, and as it reads them.
func TestRepliesOfStoragePoliciesArePlain(t *testing.T) {
	t.Parallel()
	c, inv := stored(3, 12)
	s, _ := connected(t, sim.Options{Clusters: []*cluster.Cluster{c}, Storage: inv})
	opened, err := vcenter.Open(t.Context(), live.Address{
		Scheme: "vsphere", User: "operator", Host: s.URL().Host, Parameters: map[string]string{"password": "env:SIM_PASSWORD", "thumbprint": s.Thumbprints().SHA256},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close() //nolint:errcheck // nothing was changed
	client, err := pbm.NewClient(t.Context(), opened.Client())
	if err != nil {
		t.Fatal(err)
	}
	beside := opened.Beside(client.Client)
	call := &pbmtypes.PbmCheckCompliance{This: client.ServiceContent.ComplianceManager}
	var vms []mo.VirtualMachine
	all(t, connect(t, s), "VirtualMachine", []string{"name"}, &vms)
	for _, vm := range vms {
		call.Entities = append(call.Entities, pbmtypes.PbmServerObjectRef{ObjectType: string(pbmtypes.PbmObjectTypeVirtualMachineAndDisks), Key: vm.Self.Value})
	}
	var text []byte
	want, err := pbmmethods.PbmCheckCompliance(vcenter.WithPeek(t.Context(), func(seen []byte) { text = bytes.Clone(seen) }), beside, call)
	if err != nil {
		t.Fatal(err)
	}
	violated := 0
	for _, r := range want.Returnval {
		violated += len(r.ViolatedPolicies)
	}
	if violated == 0 {
		t.Fatal("all VMs comply: no value of a requirement is in the reply")
	}
	var got pbmmethods.PbmCheckComplianceBody
	if !envelope.Reply(text, &got) {
		t.Fatalf("not plain: %s", text)
	}
	if diff := difftest.Lines(got.Res, want); diff != "" {
		t.Error(diff)
	}
	again, err := pbmmethods.PbmCheckCompliance(t.Context(), beside, call)
	if err != nil || len(again.Returnval) != len(want.Returnval) {
		t.Errorf("%d results, %v; want %d", len(again.Returnval), err, len(want.Returnval))
	}
}

// The client of the workload compliance: each kind of check answers for all that is asked.
func TestChecksOfTheWorkload(t *testing.T) {
	t.Parallel()
	c, inv := stored(3, 12)
	s, connection := connected(t, sim.Options{Clusters: []*cluster.Cluster{c}, Storage: inv})
	client, err := compliance.Open(t.Context(), load.Endpoint{
		Network: "tcp", Address: s.URL().Host, TLS: true, User: "operator", Secret: "env:SIM_PASSWORD", Thumbprint: s.Thumbprints().SHA256,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}()
	vms, err := client.VMs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	objects, want := 0, 0
	for _, v := range vms {
		ids, objects = append(ids, v.ID), objects+v.Objects
	}
	for _, v := range inv.VMs {
		for _, o := range append([]policy.Object{v.Home}, v.Disks...) {
			if o.Policy != "" {
				want++
			}
		}
	}
	if objects != want || want == 0 {
		t.Errorf("%d objects have policies, want %d", objects, want)
	}
	for kind, want := range map[subject.Kind]int{subject.Check: objects, subject.Fetch: objects, subject.RollUp: len(vms)} {
		if n, err := client.Check(t.Context(), kind, ids); err != nil || n != want {
			t.Errorf("%s: %d results, %v; want %d", kind, n, err, want)
		}
	}
	for _, v := range vms {
		if v.Policy != "" {
			if err := client.Apply(t.Context(), v); err != nil {
				t.Errorf("apply the policy of %s again: %v", v.ID, err)
			}
		}
	}
	after, err := connection.Policies(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range after.VMs {
		for _, p := range after.Policies {
			if v.Home.Policy == p.Name && v.Home.Applied != p.Generation {
				t.Errorf("%s has version %d of %s, which was applied again at %d", v.Name, v.Home.Applied, p.Name, p.Generation)
			}
		}
	}
}
