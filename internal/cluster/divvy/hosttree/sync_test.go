package hosttree

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/effort"
)

// often is the number of tries of a property: twenty times as many in the deep tier.
func often(n int) int {
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		return 20 * n
	}
	return effort.Of(n)
}

func pick[T any](g *rand.Rand, of ...T) T { return of[g.IntN(len(of))] }

// randomGrant reserves at least an amount, mostly exactly that.
func randomGrant(g *rand.Rand, least int64) Grant {
	r := least + max(0, g.Int64N(12)-8)*g.Int64N(20)
	return Grant{Reservation: r, Limit: pick(g, r, r+g.Int64N(100), cluster.Unlimited), Shares: 1 + g.Int64N(3000)}
}

// randomTree is any tree of up to 12 pools and 20 VMs, with ids out of a few more.
func randomTree(g *rand.Rand) ([]Pool, []VM) {
	pools := []Pool{{Parent: cluster.Nowhere, Name: "root"}}
	for _, id := range g.Perm(14)[:g.IntN(12)] {
		pools = append(pools, Pool{ID: cluster.PoolID(id + 1), Parent: pools[g.IntN(len(pools))].ID, Name: fmt.Sprint("n", g.IntN(3))})
	}
	var vms []VM
	for _, id := range g.Perm(24)[:g.IntN(20)] {
		v := VM{VM: cluster.VMID(id), Pool: pools[g.IntN(len(pools))].ID}
		v.CPU, v.Mem = randomGrant(g, 0), randomGrant(g, 0)
		vms = append(vms, v)
	}
	raised(g, pools, vms)
	return pools, vms
}

// raised gives each pool a reservation that covers its children's. Parents come first.
func raised(g *rand.Rand, pools []Pool, vms []VM) {
	for i := len(pools) - 1; i >= 0; i-- {
		var used cluster.Resources
		for _, v := range vms {
			if v.Pool == pools[i].ID {
				used = used.Plus(reserved(v.CPU, v.Mem))
			}
		}
		for _, p := range pools {
			if p.Parent == pools[i].ID {
				used = used.Plus(reserved(p.CPU, p.Mem))
			}
		}
		pools[i].CPU, pools[i].Mem = randomGrant(g, used.CPU), randomGrant(g, used.Memory)
	}
}

func grantOf(r cluster.Resource, cpu, mem *Grant) *Grant {
	if r == cluster.CPU {
		return cpu
	}
	return mem
}

// Equal says whether two trees hold the same.
func (t *Tree) Equal(o *Tree) bool {
	return slices.Equal(t.pools, o.pools) && slices.Equal(t.vms, o.vms)
}

func tree1(t testing.TB, pools []Pool, vms []VM) *Tree {
	t.Helper()
	made, err := New(pools, vms)
	if err != nil {
		t.Fatalf("%v\n%+v\n%+v", err, pools, vms)
	}
	return made
}

// randomPair is a tree and another one, random or similar; most often the root is full in
// both.
func randomPair(t testing.TB, g *rand.Rand) (*Tree, *Tree) {
	a, vmsA := randomTree(g)
	b, vmsB := randomTree(g)
	if near := g.IntN(3); near > 0 {
		b, vmsB = slices.Clone(a), slices.Clone(vmsA)
		for range g.IntN(4) {
			if len(vmsB) > 0 {
				v := &vmsB[g.IntN(len(vmsB))]
				v.Pool = b[g.IntN(len(b))].ID
			}
			if i := g.IntN(len(b)); i > 0 && near > 1 {
				b[i].Parent = b[g.IntN(i)].ID
			}
		}
		raised(g, b, vmsB)
	}
	for _, r := range cluster.BothResources {
		x, y := grantOf(r, &a[0].CPU, &a[0].Mem), grantOf(r, &b[0].CPU, &b[0].Mem)
		if g.IntN(3) > 0 {
			*x = Grant{Reservation: max(x.Reservation, y.Reservation), Limit: cluster.Unlimited, Shares: 1}
			*y = *x
		}
	}
	return tree1(t, a, vmsA), tree1(t, b, vmsB)
}

// legal checks a tree by the definition alone.
func legal(t *Tree) error {
	used := map[cluster.PoolID]cluster.Resources{}
	there := map[cluster.PoolID]bool{}
	for _, p := range t.Pools() {
		there[p.ID] = true
		used[p.Parent] = used[p.Parent].Plus(reserved(p.CPU, p.Mem))
	}
	for _, v := range t.vms {
		used[v.Pool] = used[v.Pool].Plus(reserved(v.CPU, v.Mem))
		if !there[v.Pool] {
			return fmt.Errorf("VM %d is nowhere", v.VM)
		}
	}
	for _, p := range t.Pools() {
		if !used[p.ID].Fits(reserved(p.CPU, p.Mem)) || p.CPU.Limit < p.CPU.Reservation || p.Mem.Limit < p.Mem.Reservation {
			return fmt.Errorf("pool %d: %+v reserves less than %+v", p.ID, p, used[p.ID])
		}
		up := p
		for n := 0; up.ID != 0; n++ {
			i := slices.IndexFunc(t.Pools(), func(o Pool) bool { return o.ID == up.Parent })
			if i < 0 || n > len(t.Pools()) {
				return fmt.Errorf("pool %d is not below the root", p.ID)
			}
			up = t.Pools()[i]
		}
	}
	return nil
}

// follow applies operations one by one and checks every prefix.
func follow(t testing.TB, from *Tree, ops []Op) *Tree {
	t.Helper()
	at := from.Clone()
	for i, o := range ops {
		if n, err := at.Apply(o); err != nil || n != 1 {
			t.Fatalf("operation %d of %d is refused: %v\n%v", i, len(ops), err, ops)
		}
		if err := legal(at); err != nil {
			t.Fatalf("after operation %d, %v: %v", i, o, err)
		}
	}
	return at
}

// checkDiff checks all properties of a diff.
func checkDiff(t testing.TB, from, to *Tree) Sync {
	t.Helper()
	before := from.Clone()
	s := Diff(from, to, Precise())
	if !from.Equal(before) {
		t.Fatal("a diff changed its input")
	}
	if got := follow(t, from, s.Ops); !got.Equal(to) {
		t.Fatalf("%v\nleads to %+v %+v\nand not to %+v %+v", s.Ops, got.pools, got.vms, to.pools, to.vms)
	} else if again := Diff(got, to, Precise()); len(again.Ops) != 0 || again.Skipped != len(to.pools) {
		t.Fatalf("between equal trees: %v", again)
	}
	if naive := rebuild(from, to, to.pools); s.Rebuild != len(naive) || len(s.Ops) > len(naive) {
		t.Fatalf("%d operations, and %d = %d to rebuild", len(s.Ops), len(naive), s.Rebuild)
	}
	k := DefaultTolerance()
	near := Diff(from, to, k)
	got := follow(t, from, near.Ops)
	if again := Diff(got, to, k); len(again.Ops) != 0 {
		t.Fatalf("what was tolerated is not any longer: %v", again.Ops)
	}
	checkNear(t, got, to)
	return s
}

// checkNear: values that were kept are within the tolerance of the goal.
func checkNear(t testing.TB, got, to *Tree) {
	t.Helper()
	if !slices.Equal(got.vms, to.vms) || len(got.pools) != len(to.pools) {
		t.Fatal("a tolerance changes VMs or pools")
	}
	for i := range got.pools {
		a, b := got.pools[i], to.pools[i]
		if a.ID != b.ID || a.Parent != b.Parent || a.Name != b.Name {
			t.Fatalf("%+v and %+v", a, b)
		}
		for _, r := range cluster.BothResources {
			x, y := grantOf(r, &a.CPU, &a.Mem), grantOf(r, &b.CPU, &b.Mem)
			for _, n := range [][2]int64{{x.Reservation, y.Reservation}, {x.Limit, y.Limit}, {x.Shares, y.Shares}} {
				if gap := max(n[0]-n[1], n[1]-n[0]); gap > 1 && gap*100 > n[0] {
					t.Fatalf("pool %d has %d instead of %d", a.ID, n[0], n[1])
				}
			}
		}
	}
}

func TestDiffLeadsThere(t *testing.T) {
	g := rand.New(rand.NewPCG(21, 22))
	for range often(1000) {
		from, to := randomPair(t, g)
		checkDiff(t, from, to)
		if p := newPlanner(from, to); !p.plan() {
			t.Fatalf("no way from %v %v to %v %v", from.pools, from.vms, to.pools, to.vms)
		}
		g := rand.New(rand.NewPCG(1, uint64(len(from.pools))))
		follow(t, from, rebuild(from, to, to.pools))
		shuffle := func(t0 *Tree) *Tree {
			p, v := slices.Clone(t0.pools), slices.Clone(t0.vms)
			g.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
			g.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
			return tree1(t, p, v)
		}
		want := Diff(from, to, DefaultTolerance())
		if got := Diff(shuffle(from), shuffle(to), DefaultTolerance()); !slices.Equal(got.Ops, want.Ops) || got.Skipped != want.Skipped {
			t.Fatalf("the order of lists counts: %v\n%v", got.Ops, want.Ops)
		}
	}
}

func FuzzDiff(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, seed*7)
	}
	f.Fuzz(func(t *testing.T, a, b uint64) {
		from, to := randomPair(t, rand.New(rand.NewPCG(a, b)))
		checkDiff(t, from, to)
	})
}

// TestOneOpAGroup: no field is set twice, and no unchanged field is set.
func TestOneOpAGroup(t *testing.T) {
	g := rand.New(rand.NewPCG(23, 24))
	for range often(1000) {
		from, to := randomPair(t, g)
		s := Diff(from, to, Precise())
		set := map[string]int{}
		for _, o := range s.Ops {
			if o.Sets != 0 && o.Sets != changed(from, to, o)&o.Sets {
				t.Fatalf("%v sets what stays as it is", o)
			}
			name := fmt.Sprint("pool ", o.Pool)
			if o.Verb.ofVM() {
				name = fmt.Sprint("vm ", o.VM)
			}
			for bit, field := range map[Fields]string{SetsName: " name", SetsCPU: " cpu", SetsMem: " memory"} {
				if o.Sets&bit != 0 {
					set[name+field]++
				}
			}
			if v := o.Verb; v != ChangePool && v != ChangeVM {
				set[name+" "+strings.Fields(v.String())[0]]++
			}
		}
		for what, n := range set {
			if n > 1 {
				t.Fatalf("%s is set %d times: %v", what, n, s.Ops)
			}
		}
	}
}

// changed are the fields in which two trees differ for an operation's object: all for a pool
// to destroy, which may be lowered before.
func changed(from, to *Tree, o Op) Fields {
	if o.Verb.ofVM() {
		i, _ := from.vm(o.VM)
		j, _ := to.vm(o.VM)
		a, b := from.vms[i], to.vms[j]
		return differing(a.CPU, b.CPU, a.Mem, b.Mem)
	}
	i, _ := from.pool(o.Pool)
	j, stays := to.pool(o.Pool)
	if !stays {
		return SetsCPU | SetsMem
	}
	return differs(&from.pools[i], &to.pools[j])
}

func TestNewRefuses(t *testing.T) {
	g := func(r int64) Grant { return Grant{r, cluster.Unlimited, 1} }
	root := Pool{Parent: cluster.Nowhere, CPU: g(10), Mem: g(10)}
	pool := func(id, parent cluster.PoolID, r int64) Pool {
		return Pool{ID: id, Parent: parent, CPU: g(r), Mem: g(0)}
	}
	vm := func(id cluster.VMID, in cluster.PoolID, cpu, mem int64) VM { return VM{id, in, g(cpu), g(mem)} }
	for _, c := range []struct {
		want  string
		pools []Pool
		vms   []VM
	}{
		{"pool 0, the root, is missing", nil, nil},
		{"pool 0, the root, is missing", []Pool{root, pool(-3, 0, 0)}, nil},
		{"pool 1 is listed twice", []Pool{root, pool(1, 0, 0), pool(1, 0, 0)}, nil},
		{"VM 7 is listed twice", []Pool{root}, []VM{vm(7, 0, 0, 0), vm(7, 0, 0, 0)}},
		{"only the root has none", []Pool{root, pool(2, cluster.Nowhere, 0)}, nil},
		{"pool 2 is in pool 5, which does not exist", []Pool{root, pool(2, 5, 0)}, nil},
		{"VM 1 is in pool 5, which does not exist", []Pool{root}, []VM{vm(1, 5, 0, 0)}},
		{"pools form a cycle: 1 of 3", []Pool{root, pool(1, 2, 0), pool(2, 1, 0)}, nil},
		{"pool 0: it reserves 10 of cpu, less than the 11 reserved", []Pool{root, pool(1, 0, 11)}, nil},
		{"pool 1: it reserves 0 of memory, less than the 1 reserved", []Pool{root, pool(1, 0, 1)}, []VM{vm(1, 1, 0, 1)}},
		{"VM 1: a cpu reservation of -1", []Pool{root}, []VM{vm(1, 0, -1, 0)}},
		{"pool 1: a cpu reservation of 5 and a limit of 4", []Pool{root, {ID: 1, CPU: Grant{5, 4, 1}, Mem: g(0)}}, nil},
		{"shares above 0", []Pool{root, {ID: 1, CPU: Grant{5, 5, 0}, Mem: g(0)}}, nil},
	} {
		if _, err := New(c.pools, c.vms); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	huge := []VM{vm(1, 0, mostReserved, 0), vm(2, 0, mostReserved, 0), vm(3, 0, mostReserved, 0), vm(4, 0, mostReserved, 0)}
	if _, err := New([]Pool{root}, huge); err == nil {
		t.Error("a sum beyond all bounds is accepted")
	}
}
