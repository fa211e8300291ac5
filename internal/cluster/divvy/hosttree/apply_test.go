package hosttree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/effort"
)

// grown is a grant without a limit.
func grown(r int64) Grant { return Grant{r, cluster.Unlimited, 1000} }

func somePool(id, parent cluster.PoolID, r int64) Pool {
	return Pool{ID: id, Parent: parent, Name: fmt.Sprint("p", id), CPU: grown(r), Mem: grown(0)}
}

func someVM(id cluster.VMID, in cluster.PoolID, r int64) VM {
	return VM{VM: id, Pool: in, CPU: grown(r), Mem: grown(0)}
}

// byHand is a full host: pool 1 with pool 2 in it, and pool 3.
func byHand(t testing.TB) *Tree {
	return tree1(t, []Pool{somePool(0, cluster.Nowhere, 100), somePool(1, 0, 60), somePool(2, 1, 20), somePool(3, 0, 40)},
		[]VM{someVM(1, 1, 30), someVM(2, 2, 20), someVM(3, 3, 10)})
}

func TestApplyRefuses(t *testing.T) {
	cpu := func(verb Verb, pool cluster.PoolID, vm cluster.VMID, parent cluster.PoolID, g Grant) Op {
		return Op{Verb: verb, Sets: SetsCPU, Pool: pool, VM: vm, Parent: parent, CPU: g, Mem: grown(0)}
	}
	for _, c := range []struct {
		want string
		op   Op
	}{
		{"pool 9 does not exist", cpu(ChangePool, 9, -1, -1, grown(0))},
		{"pool 0 has 0 of its cpu reservation left, but 1 are needed", cpu(CreatePool, 4, -1, 0, grown(1))},
		{"pool 3 already exists", cpu(CreatePool, 3, -1, 0, grown(0))},
		{"pool 9 does not exist", cpu(CreatePool, 4, -1, 9, grown(0))},
		{"pool id -4", cpu(CreatePool, -4, -1, 0, grown(0))},
		{"pool 1 has 30 of its cpu reservation left, but 31 are needed", cpu(ChangePool, 2, -1, -1, grown(31))},
		{"it reserves 49 of cpu, less than the 50 reserved", cpu(ChangePool, 1, -1, -1, grown(49))},
		{"it reserves 99 of cpu, less than the 100 reserved", cpu(ChangePool, 0, -1, -1, grown(99))},
		{"a limit of 10", cpu(ChangePool, 3, -1, -1, Grant{20, 10, 1})},
		{"shares above 0", cpu(ChangePool, 3, -1, -1, Grant{20, 20, 0})},
		{"a cpu reservation of -1", cpu(ChangePool, 0, -1, -1, grown(-1))},
		{"pool 0 has 0 of its cpu reservation left, but 20 are needed", Op{Verb: MovePool, Pool: 2, Parent: 0}},
		{"it contains pool 2", Op{Verb: MovePool, Pool: 1, Parent: 2}},
		{"the root can be changed", Op{Verb: MovePool, Pool: 0, Parent: 1}},
		{"the root can be changed", Op{Verb: DestroyPool}},
		{"it contains 2 pools and VMs", Op{Verb: DestroyPool, Pool: 1}},
		{"VM 9 does not exist", cpu(ChangeVM, 1, 9, -1, grown(0))},
		{"VM 9 does not exist", Op{Verb: LeaveVM, VM: 9}},
		{"pool 3 has 40 of its cpu reservation left, but 41 are needed", cpu(ChangeVM, 3, 3, -1, grown(41))},
		{"pool 3 has 30 of its cpu reservation left, but 31 are needed", cpu(EnterVM, 3, 4, -1, grown(31))},
		{"VM 3 already exists", cpu(EnterVM, 3, 3, -1, grown(0))},
		{"pool 7 does not exist", cpu(EnterVM, 7, 4, -1, grown(0))},
		{"pool 2 has 0 of its cpu reservation left, but 10 are needed", Op{Verb: MoveVM, VM: 3, Pool: 2}},
		{"unknown operation", Op{Verb: 99}},
	} {
		at := byHand(t)
		n, err := at.Apply(Op{Verb: ChangePool, Pool: 3, Sets: SetsName, Name: "first"}, c.op, Op{Verb: LeaveVM, VM: 3})
		if n != 1 || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %d, %v, want %q", c.op, n, err, c.want)
		}
		first := byHand(t)
		if _, err := first.Apply(Op{Verb: ChangePool, Pool: 3, Sets: SetsName, Name: "first"}); err != nil || !at.Equal(first) || at.sums[0] != first.sums[0] {
			t.Errorf("%v left something behind: %v", c.op, err)
		}
	}
}

func diffText(t *testing.T, from, to *Tree) string {
	var lines []string
	for _, o := range checkDiff(t, from, to).Ops {
		lines = append(lines, o.String())
	}
	return strings.Join(lines, "\n")
}

// TestSyncByHand: the order of operations on a host without spare capacity.
func TestSyncByHand(t *testing.T) {
	root := somePool(0, cluster.Nowhere, 100)
	for _, c := range []struct {
		name  string
		pools []Pool
		vms   []VM
		want  []string
	}{
		{"lower from the VMs up, raise from the root down",
			[]Pool{root, somePool(1, 0, 30), somePool(2, 1, 10), somePool(3, 0, 70)}, []VM{someVM(1, 1, 20), someVM(2, 2, 10), someVM(3, 3, 70)},
			[]string{"change VM 1 pool 1 cpu 20/-/1000", "change VM 2 pool 2 cpu 10/-/1000", "change pool 2 cpu 10/-/1000", "change pool 1 cpu 30/-/1000", "change pool 3 cpu 70/-/1000", "change VM 3 pool 3 cpu 70/-/1000"}},
		{"a VM moves where there is room",
			[]Pool{root, somePool(1, 0, 60), somePool(2, 1, 20), somePool(3, 0, 40)}, []VM{someVM(1, 3, 30), someVM(2, 2, 20), someVM(3, 3, 10)},
			[]string{"move VM 1 pool 3"}},
		{"a pool goes, another comes",
			[]Pool{root, somePool(1, 0, 60), somePool(3, 0, 40), somePool(4, 1, 30)}, []VM{someVM(1, 1, 30), someVM(3, 3, 10), someVM(5, 4, 25)},
			[]string{"leave VM 2 pool 2", "destroy pool 2", `create pool 4 parent 1 name "p4" cpu 30/-/1000 memory 0/-/1000`, "enter VM 5 pool 4 cpu 25/-/1000 memory 0/-/1000"}},
		{"a VM moves before it grows",
			[]Pool{root, somePool(1, 0, 30), somePool(2, 1, 20), somePool(3, 0, 70)}, []VM{someVM(1, 3, 50), someVM(2, 2, 20), someVM(3, 3, 10)},
			[]string{"move VM 1 pool 3", "change pool 1 cpu 30/-/1000", "change pool 3 cpu 70/-/1000", "change VM 1 pool 3 cpu 50/-/1000"}},
		{"a pool moves out of one that goes",
			[]Pool{root, somePool(2, 3, 20), somePool(3, 0, 40)}, []VM{someVM(2, 2, 20), someVM(3, 3, 10)},
			[]string{"leave VM 1 pool 1", "move pool 2 parent 3", "destroy pool 1"}},
	} {
		if got := diffText(t, byHand(t), tree1(t, c.pools, c.vms)); got != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// TestSyncParks: on a full host, a VM takes its reservation to another pool by leaving
// temporarily, and a pool by being destroyed and created again.
func TestSyncParks(t *testing.T) {
	root := somePool(0, cluster.Nowhere, 100)
	from := tree1(t, []Pool{root, somePool(1, 0, 60), somePool(3, 0, 40)}, []VM{someVM(1, 1, 60), someVM(3, 3, 40)})
	to := tree1(t, []Pool{root, somePool(1, 0, 0), somePool(3, 0, 100)}, []VM{someVM(1, 3, 60), someVM(3, 3, 40)})
	want := "leave VM 1 pool 1\nchange pool 1 cpu 0/-/1000\nchange pool 3 cpu 100/-/1000\nenter VM 1 pool 3 cpu 60/-/1000 memory 0/-/1000"
	if got := diffText(t, from, to); got != want {
		t.Error(got)
	}
	from = tree1(t, []Pool{root, somePool(1, 0, 100), somePool(2, 1, 100), somePool(3, 0, 0)}, []VM{someVM(1, 2, 100)})
	to = tree1(t, []Pool{root, somePool(1, 0, 0), somePool(2, 3, 100), somePool(3, 0, 100)}, []VM{someVM(1, 2, 100)})
	want = "leave VM 1 pool 2\ndestroy pool 2\nchange pool 1 cpu 0/-/1000\nchange pool 3 cpu 100/-/1000\n" +
		"create pool 2 parent 3 name \"p2\" cpu 100/-/1000 memory 0/-/1000\nenter VM 1 pool 2 cpu 100/-/1000 memory 0/-/1000"
	if got := diffText(t, from, to); got != want {
		t.Error(got)
	}
}

// TestSyncSkipsEqualParts: a change of one VM causes a comparison of the pools above it only.
func TestSyncSkipsEqualParts(t *testing.T) {
	from, to := byHand(t), byHand(t)
	if _, err := to.Apply(Op{Verb: ChangeVM, Sets: SetsCPU, VM: 3, CPU: grown(11)}); err != nil {
		t.Fatal(err)
	}
	if s := Diff(from, to, DefaultTolerance()); s.Skipped != 2 || len(s.Ops) != 1 || s.Rebuild != 12 {
		t.Errorf("%+v", s)
	}
}

// TestSmallChanges: values close to the goal stay, unless an administrator has set them or
// others depend on them.
func TestSmallChanges(t *testing.T) {
	build := func(one, three, vm int64) *Tree {
		return tree1(t, []Pool{somePool(0, cluster.Nowhere, 10_000), somePool(1, 0, one), somePool(2, 0, 10), somePool(3, 0, three)}, []VM{someVM(1, 1, vm)})
	}
	person := Tolerance{PerMille: 10, Exact: func(p cluster.PoolID) bool { return p == 1 }}
	from := build(1_000, 8_000, 900)
	for _, c := range []struct {
		name string
		to   *Tree
		keep Tolerance
		want []string
	}{
		{"one per cent", build(1_010, 7_920, 900), DefaultTolerance(), nil},
		{"a little more", build(1_011, 8_000, 900), DefaultTolerance(), []string{"change pool 1 cpu 1011/-/1000"}},
		{"set by a person", build(1_001, 8_001, 900), person, []string{"change pool 1 cpu 1001/-/1000"}},
		{"VMs are met to the unit", build(1_000, 8_000, 901), DefaultTolerance(), []string{"change VM 1 pool 1 cpu 901/-/1000"}},
		{"the VM in it needs more", build(1_005, 8_000, 1_005), DefaultTolerance(), []string{"change pool 1 cpu 1005/-/1000", "change VM 1 pool 1 cpu 1005/-/1000"}},
		{"the other one needs what it gives up", build(1_990, 7_990, 900), DefaultTolerance(), []string{"change pool 1 cpu 1990/-/1000"}},
		{"the same, to the unit", build(2_000, 7_990, 900), DefaultTolerance(), []string{"change pool 3 cpu 7990/-/1000", "change pool 1 cpu 2000/-/1000"}},
		{"one unit, in the zero value", build(1_001, 8_002, 900), Tolerance{}, []string{"change pool 3 cpu 8002/-/1000"}},
	} {
		s := Diff(from, c.to, c.keep)
		var got []string
		for _, o := range s.Ops {
			got = append(got, o.String())
		}
		follow(t, from, s.Ops)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestSyncSplits: on a full host, one pool trades one resource for the other, and another does
// the reverse.
func TestSyncSplits(t *testing.T) {
	build := func(cpu1, mem1 int64) *Tree {
		pools := []Pool{somePool(0, cluster.Nowhere, 100), somePool(1, 0, cpu1), somePool(2, 0, 100-cpu1)}
		pools[0].Mem, pools[1].Mem, pools[2].Mem = grown(100), grown(mem1), grown(100-mem1)
		return tree1(t, pools, nil)
	}
	want := "change pool 1 cpu 40/-/1000\nchange pool 2 cpu 60/-/1000 memory 40/-/1000\nchange pool 1 memory 60/-/1000"
	if got := diffText(t, build(60, 40), build(40, 60)); got != want {
		t.Error(got)
	}
}

func randomOp(g *rand.Rand) Op {
	o := Op{Verb: Verb(g.IntN(9)), Sets: Fields(g.IntN(8)), Pool: cluster.PoolID(g.IntN(16) - 1), VM: cluster.VMID(g.IntN(24)), Parent: cluster.PoolID(g.IntN(15)), Name: "new"}
	o.CPU, o.Mem = randomGrant(g, 0), randomGrant(g, 0)
	if g.IntN(20) == 0 {
		o.CPU = Grant{g.Int64N(10) - 5, g.Int64N(10) - 5, g.Int64N(3)}
	}
	return o
}

// bluntly performs an operation on plain lists without checks; ok reports whether it has an
// object.
func bluntly(t *Tree, o Op) (n *Tree, ok bool) {
	n = &Tree{pools: slices.Clone(t.pools), vms: slices.Clone(t.vms)}
	p := slices.IndexFunc(n.pools, func(p Pool) bool { return p.ID == o.Pool })
	v := slices.IndexFunc(n.vms, func(v VM) bool { return v.VM == o.VM })
	set := func(cpu, mem *Grant) {
		if o.Sets&SetsCPU != 0 {
			*cpu = o.CPU
		}
		if o.Sets&SetsMem != 0 {
			*mem = o.Mem
		}
	}
	switch o.Verb {
	case CreatePool:
		if n.pools = append(n.pools, Pool{o.Pool, o.Parent, o.Name, o.CPU, o.Mem}); p >= 0 || o.Pool < 0 {
			return n, false
		}
	case EnterVM:
		if n.vms = append(n.vms, VM{o.VM, o.Pool, o.CPU, o.Mem}); v >= 0 {
			return n, false
		}
	case ChangePool, MovePool, DestroyPool:
		if p < 0 || p == 0 && o.Verb != ChangePool {
			return n, false
		}
		if o.Verb == DestroyPool {
			n.pools = slices.Delete(n.pools, p, p+1)
			return n, true
		}
		if set(&n.pools[p].CPU, &n.pools[p].Mem); o.Verb == MovePool {
			n.pools[p].Parent = o.Parent
		}
		if o.Sets&SetsName != 0 {
			n.pools[p].Name = o.Name
		}
	case ChangeVM, MoveVM, LeaveVM:
		if v < 0 {
			return n, false
		}
		if o.Verb == LeaveVM {
			n.vms = slices.Delete(n.vms, v, v+1)
			return n, true
		}
		if set(&n.vms[v].CPU, &n.vms[v].Mem); o.Verb == MoveVM {
			n.vms[v].Pool = o.Pool
		}
	default:
		return n, false
	}
	return n, true
}

// TestApplyIsExact: an operation is refused if and only if its result is invalid.
func TestApplyIsExact(t *testing.T) {
	g := rand.New(rand.NewPCG(25, 26))
	done := 0
	for range often(1000) {
		pools, vms := randomTree(g)
		pools[0].CPU, pools[0].Mem = grown(pools[0].CPU.Reservation+200), grown(pools[0].Mem.Reservation+200)
		at := tree1(t, pools, vms)
		for range 40 {
			o := randomOp(g)
			blunt, ok := bluntly(at, o)
			want, err := at, fmt.Errorf("nothing to perform it on")
			if ok {
				var made *Tree
				if made, err = New(blunt.pools, blunt.vms); err == nil {
					want = made
				}
			}
			got := at.Clone()
			_, no := got.Apply(o)
			if (no == nil) != (err == nil) || !got.Equal(want) || got.sums[0] != want.sums[0] {
				t.Fatalf("%v: %v, want %v\n%+v %+v", o, no, err, at.pools, at.vms)
			}
			if at = got; no == nil {
				done++
			}
		}
	}
	if done < effort.Of(4000) {
		t.Errorf("only %d operations were performed", done)
	}
}
