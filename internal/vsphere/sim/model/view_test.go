package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/difftest"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/sim/inventory"
	"plimsoll/internal/vsphere/sim/replica"
)

// world is the model of two clusters, and the objects that it is made from.
type world struct {
	*testing.T
	*Model
	random   *rand.Rand
	clusters []reference
	folder   *simulator.Folder
	made     int
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	is := simulator.Model{ServiceContent: vpx.ServiceContent, RootFolder: vpx.RootFolder}
	if err := is.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(is.Remove)
	var list []*cluster.Cluster
	for i := range 2 {
		s := generate.Typical(3, seed)
		s.VMs, s.Rules, s.Pools, s.Networks, s.Datastores, s.Name = 12, 6, 3, 3, 3, fmt.Sprint("C", i)
		c, _ := generate.Cluster(s)
		for k := range c.Hosts {
			c.Hosts[k].Name = s.Name + c.Hosts[k].Name
		}
		for k := range c.VMs {
			c.VMs[k].Name = s.Name + c.VMs[k].Name
		}
		list = append(list, c)
	}
	if err := inventory.Build(t.Context(), is.Service, t.TempDir(), list); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Model: New(is.Map()), random: rand.New(rand.NewPCG(seed, 1))}
	for _, c := range w.reg.All("ClusterComputeResource") {
		w.clusters = append(w.clusters, c.Reference())
	}
	first := w.reg.Any("VirtualMachine").(*simulator.VirtualMachine)
	w.folder = w.reg.Get(*first.Parent).(*simulator.Folder)
	return w
}

// one chooses one of some objects.
func one[T any](w *world, list []T) T { return list[w.random.IntN(len(list))] }

func (w *world) ctx() *simulator.Context { return &simulator.Context{Map: w.reg} }

func (w *world) vm() *simulator.VirtualMachine {
	return one(w, w.reg.All("VirtualMachine")).(*simulator.VirtualMachine)
}

func (w *world) set(of interface{ Reference() reference }, changes ...types.PropertyChange) {
	ctx := w.ctx()
	ctx.WithLock(of, func() { ctx.Update(of, changes) })
}

func change(name string, val types.AnyType) types.PropertyChange {
	return types.PropertyChange{Name: name, Val: val}
}

// TestViewsFollowChanges compares, after each of many random changes, the views that followed it with views made afresh.
func TestViewsFollowChanges(t *testing.T) {
	for seed := range uint64(4) {
		w := newWorld(t, seed)
		for step := range 120 {
			what := w.step()
			for _, of := range w.clusters {
				if diff := w.differ(of); diff != "" {
					t.Fatalf("seed %d, step %d, %s: %s\n%s", seed, step, what, of.Value, diff)
				}
			}
		}
	}
}

// differ is in what the view of a cluster differs from one made afresh.
func (w *world) differ(of reference) (diff string) {
	s := w.read(w.ctx(), w.reg.Get(of).(*simulator.ClusterComputeResource))
	w.Decide(w.ctx(), of, func(v *View) {
		want := w.view(s)
		want.fresh()
		diff = difftest.Lines(stateOf(v), stateOf(want))
	})
	return diff
}

// state is all that a view says.
type state struct {
	Cluster    clustertest.State
	Hosts, VMs []reference
	DRS        types.ClusterDrsConfigInfo
	HA         bool
	Known      []cluster.VMID
	Behaviors  []types.DrsBehavior
	Admitted   []divvy.Refusal
	Denied     []string
}

func stateOf(v *View) state {
	s := state{Cluster: clustertest.StateOf(v.Layout, v.Index), Hosts: v.Hosts, VMs: v.VMs, DRS: v.DRS, HA: v.HA}
	for i, ref := range v.VMs {
		id, _ := v.VM(ref)
		s.Known, s.Behaviors = append(s.Known, id), append(s.Behaviors, v.Behavior(ref))
		s.Admitted, s.Denied = append(s.Admitted, v.Pools.Admit(cluster.VMID(i))), append(s.Denied, v.Placer.Denied(cluster.VMID(i)))
	}
	return s
}

// step makes a random change, and says which.
func (w *world) step() string {
	v := w.vm()
	steps := []func(*simulator.VirtualMachine) string{w.add, w.remove, w.power, w.power, w.move, w.move, w.size, w.size, w.allocate, w.allocate, w.pool, w.connect, w.template, w.rename, w.rule, w.host, w.predict}
	return one(w, steps)(v) + " " + v.Self.Value
}

func (w *world) add(like *simulator.VirtualMachine) string {
	made := *like
	made.VirtualMachine = replica.Of(like.VirtualMachine)
	w.made++
	made.Self, made.Name = types.ManagedObjectReference{}, fmt.Sprint("A-new-", w.made)
	w.reg.PutEntity(w.folder, &made)
	return "added one like"
}

func (w *world) remove(v *simulator.VirtualMachine) string {
	if len(w.reg.All("VirtualMachine")) > 4 {
		w.reg.Remove(w.ctx(), v.Self)
	}
	return "removed"
}

func (w *world) power(v *simulator.VirtualMachine) string {
	is := one(w, []types.VirtualMachinePowerState{on, types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended})
	w.set(v, change("runtime.powerState", is), change("summary.runtime.powerState", is))
	return string(is)
}

func (w *world) move(v *simulator.VirtualMachine) string {
	to := one(w, w.reg.All("HostSystem")).Reference()
	w.set(v, change("runtime.host", to), change("summary.runtime.host", to))
	return "moved to " + to.Value
}

func (w *world) size(v *simulator.VirtualMachine) string {
	w.set(v, change("config.hardware.numCPU", int32(1<<w.random.IntN(4))), change("config.hardware.memoryMB", int32(1024<<w.random.IntN(4))))
	return "resized"
}

func (w *world) allocate(v *simulator.VirtualMachine) string {
	a := types.ResourceAllocationInfo{Reservation: types.NewInt64(w.random.Int64N(3000)), Limit: types.NewInt64(-1), Shares: &types.SharesInfo{Level: types.SharesLevelHigh}}
	w.set(v, change(one(w, []string{"config.cpuAllocation", "config.memoryAllocation"}), &a))
	return "allocated"
}

func (w *world) pool(v *simulator.VirtualMachine) string {
	if w.random.IntN(3) > 0 {
		to := one(w, w.reg.All("ResourcePool")).Reference()
		w.set(v, change("resourcePool", to))
		return "put into " + to.Value
	}
	p := one(w, w.reg.All("ResourcePool")).(*simulator.ResourcePool)
	set := replica.Of(p.Config)
	for _, a := range []*types.ResourceAllocationInfo{&set.CpuAllocation, &set.MemoryAllocation} {
		a.Reservation, a.ExpandableReservation = types.NewInt64(w.random.Int64N(8192)), types.NewBool(w.random.IntN(2) == 0)
	}
	w.set(p, change("config", set))
	return "reserved for " + p.Self.Value
}

func (w *world) connect(v *simulator.VirtualMachine) string {
	var nets, stores []reference
	for _, h := range w.reg.All("HostSystem") {
		nets, stores = append(nets, h.(*simulator.HostSystem).Network...), append(stores, h.(*simulator.HostSystem).Datastore...)
	}
	w.set(v, change("network", []reference{one(w, nets), one(w, nets)}), change("datastore", []reference{one(w, stores)}))
	return "connected"
}

func (w *world) template(v *simulator.VirtualMachine) string {
	w.set(v, change("config.template", !v.Config.Template))
	return fmt.Sprint("template ", v.Config.Template)
}

func (w *world) rename(v *simulator.VirtualMachine) string {
	name := fmt.Sprint("renamed-", w.random.IntN(1000))
	w.set(v, change("name", name))
	return name
}

// rule adds a rule, or a group with two rules about hosts, with some VMs.
func (w *world) rule(v *simulator.VirtualMachine) string {
	c := w.reg.Get(one(w, w.clusters)).(*simulator.ClusterComputeResource)
	set := *c.ConfigurationEx.(*types.ClusterConfigInfoEx)
	name := fmt.Sprint("rule-", w.random.IntN(1000))
	info := types.ClusterRuleInfo{Name: name, Enabled: types.NewBool(true), Mandatory: types.NewBool(w.random.IntN(2) == 0)}
	few := []reference{v.Self, w.vm().Self, w.vm().Self}
	switch w.random.IntN(3) {
	case 0:
		set.Rule = append(slices.Clone(set.Rule), &types.ClusterAffinityRuleSpec{ClusterRuleInfo: info, Vm: few})
	case 1:
		set.Rule = append(slices.Clone(set.Rule), &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: info, Vm: few})
	default:
		hosts := one(w, w.reg.All("HostSystem")).Reference()
		set.Group = append(slices.Clone(set.Group), &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name + "-vms"}, Vm: few},
			&types.ClusterHostGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name + "-hosts"}, Host: []reference{hosts}})
		about := types.ClusterVmHostRuleInfo{ClusterRuleInfo: info, VmGroupName: name + "-vms"}
		near, far := about, about
		near.AffineHostGroupName, far.AntiAffineHostGroupName = name+"-hosts", name+"-hosts"
		set.Rule = append(slices.Clone(set.Rule), &near, &far)
	}
	set.DrsConfig.Enabled = types.NewBool(true)
	set.DrsVmConfig = []types.ClusterDrsVmConfigInfo{{Key: v.Self, Enabled: types.NewBool(config.Yes(info.Mandatory))}}
	w.set(c, change("configurationEx", &set))
	w.Forget()
	return name + " with"
}

func (w *world) host(*simulator.VirtualMachine) string {
	h := one(w, w.reg.All("HostSystem")).(*simulator.HostSystem)
	if w.random.IntN(2) == 0 {
		w.Drain(h.Self, w.random.IntN(2) == 0)
		return "drained or not " + h.Self.Value
	}
	w.set(h, change("runtime.inMaintenanceMode", !h.Runtime.InMaintenanceMode))
	return "maintenance of " + h.Self.Value
}

// predict has a decision put a VM elsewhere, which is then carried out or revised.
func (w *world) predict(v *simulator.VirtualMachine) string {
	w.power(v)
	of := *w.reg.Get(*v.Runtime.Host).(*simulator.HostSystem).Parent
	w.set(v, change("runtime.powerState", types.VirtualMachinePowerStatePoweredOff))
	var to *reference
	w.Decide(w.ctx(), of, func(view *View) {
		id, known := view.VM(v.Self)
		if !known {
			return
		}
		if c := view.Placer.Place(id); c.Host != cluster.Nowhere && len(c.First) == 0 {
			view.Placer.Take(c)
			to = &view.Hosts[c.Host]
		}
	})
	if to == nil || w.random.IntN(2) == 0 {
		w.Revise()
		return "not placed"
	}
	w.set(v, change("runtime.host", *to))
	w.set(v, change("runtime.powerState", on))
	return "placed on " + to.Value
}
