package divvy

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/effort"
)

// oracleFill is fill by its definition, with fractions: it tries all levels at which anything
// can change.
func oracleFill(claims []claim, amount int64) []int64 {
	floors, mosts := int64(0), int64(0)
	for _, c := range claims {
		floors, mosts = floors+c.floor, mosts+c.most
	}
	exact := make([]*big.Rat, len(claims))
	switch {
	case amount < floors:
		for i, c := range claims {
			exact[i] = new(big.Rat).Mul(big.NewRat(c.floor, 1), big.NewRat(amount, floors))
		}
	case amount >= mosts:
		for i, c := range claims {
			exact[i] = big.NewRat(c.most, 1)
		}
	default:
		exact = atLevel(claims, oracleLevel(claims, amount))
	}
	give, parts, left := make([]int64, len(claims)), make([]*big.Rat, len(claims)), amount
	order := make([]int, len(claims))
	for i, e := range exact {
		give[i] = new(big.Int).Quo(e.Num(), e.Denom()).Int64()
		parts[i] = new(big.Rat).Sub(e, big.NewRat(give[i], 1))
		left -= give[i]
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return parts[b].Cmp(parts[a]) })
	for _, i := range order {
		if left > 0 && parts[i].Sign() > 0 {
			give[i]++
			left--
		}
	}
	return give
}

func atLevel(claims []claim, l *big.Rat) []*big.Rat {
	exact := make([]*big.Rat, len(claims))
	for i, c := range claims {
		e := new(big.Rat).Mul(l, big.NewRat(c.weight, 1))
		if low := big.NewRat(c.floor, 1); e.Cmp(low) < 0 {
			e = low
		}
		if high := big.NewRat(c.most, 1); e.Cmp(high) > 0 {
			e = high
		}
		exact[i] = e
	}
	return exact
}

func oracleLevel(claims []claim, amount int64) *big.Rat {
	total := func(l *big.Rat) *big.Rat {
		s := new(big.Rat)
		for _, e := range atLevel(claims, l) {
			s.Add(s, e)
		}
		return s
	}
	levels := []*big.Rat{new(big.Rat)}
	for _, c := range claims {
		if c.weight > 0 {
			levels = append(levels, big.NewRat(c.floor, c.weight), big.NewRat(c.most, c.weight))
		}
	}
	slices.SortFunc(levels, (*big.Rat).Cmp)
	want := big.NewRat(amount, 1)
	for i := 1; i < len(levels); i++ {
		low, high := total(levels[i-1]), total(levels[i])
		if low.Cmp(want) <= 0 && high.Cmp(want) > 0 {
			// The sum is linear between two neighbours.
			rise := new(big.Rat).Quo(new(big.Rat).Sub(want, low), new(big.Rat).Sub(high, low))
			return rise.Add(levels[i-1], rise.Mul(rise, new(big.Rat).Sub(levels[i], levels[i-1])))
		}
	}
	return new(big.Rat)
}

func randomClaims(g *rand.Rand) ([]claim, int64) {
	claims := make([]claim, g.IntN(12))
	scale := []int64{3, 20, 1000, 1 << 50}[g.IntN(4)]
	total := int64(1)
	for i := range claims {
		c := &claims[i]
		c.floor = max(0, g.Int64N(2*scale)-scale)
		c.most = c.floor + max(0, g.Int64N(2*scale)-scale/2)
		c.weight = 1 + g.Int64N(min(scale, mostWeight))
		if g.IntN(8) == 0 {
			*c = claim{}
		}
		total += c.most
	}
	return claims, g.Int64N(total + total/8 + 1)
}

// often is the number of tries of a property: twenty times as many in the deep tier.
func often(n int) int {
	if os.Getenv("PLIMSOLL_DEEP") == "1" {
		return 20 * n
	}
	return effort.Of(n)
}

func gives(claims []claim) []int64 {
	give := make([]int64, len(claims))
	for i, c := range claims {
		give[i] = c.give
	}
	return give
}

func TestFillAgainstOracle(t *testing.T) {
	g := rand.New(rand.NewPCG(3, 4))
	var f filler
	for range often(5000) {
		claims, amount := randomClaims(g)
		f.fill(claims, amount)
		if want := oracleFill(claims, amount); !slices.Equal(gives(claims), want) {
			t.Fatalf("%d among %+v, want %d", amount, claims, want)
		}
	}
}

// TestFillIsMonotone: nobody loses, except a unit of rounding, when there is more or its
// shares grow.
func TestFillIsMonotone(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	var f filler
	for range 20_000 {
		claims, amount := randomClaims(g)
		f.fill(claims, amount)
		before := gives(claims)
		f.fill(claims, amount+1+g.Int64N(3))
		for i, was := range before {
			if claims[i].give < was-1 {
				t.Fatalf("%d fell to %d with more than %d: %+v", was, claims[i].give, amount, claims)
			}
		}
		if len(claims) > 0 {
			i := g.IntN(len(claims))
			claims[i].weight++
			f.fill(claims, amount)
			if claims[i].give < before[i]-1 {
				t.Fatalf("%d fell to %d with more shares: %+v", before[i], claims[i].give, claims)
			}
		}
	}
}

// TestLevelsAreExact: sharers between floor and most have equal amounts per share, to the
// unit, and a sharer below its most leaves nothing over.
func TestLevelsAreExact(t *testing.T) {
	var f filler
	claims := []claim{{most: 1000, weight: 1}, {floor: 10, most: 1000, weight: 2}, {floor: 500, most: 1000, weight: 1}, {most: 20, weight: 8}}
	f.fill(claims, 820)
	if want := []int64{100, 200, 500, 20}; !slices.Equal(gives(claims), want) {
		t.Errorf("%d, want %d", gives(claims), want)
	}
}

func TestFillOfAbsurdAmounts(t *testing.T) {
	var f filler
	claims := make([]claim, 100)
	for i := range claims {
		claims[i] = claim{floor: mostAmount, most: mostAmount, weight: mostWeight}
	}
	for _, amount := range []int64{0, 1, 12345, mostAmount} {
		if f.fill(claims, amount) {
			t.Errorf("%d covers the floors", amount)
		}
		for i := range claims {
			claims[i].floor = 0
		}
		f.fill(claims, amount)
		left := amount
		for i := range claims {
			left -= claims[i].give
			claims[i].floor = mostAmount
		}
		if left != 0 {
			t.Errorf("%d of %d are left", left, amount)
		}
	}
}

func pick[T any](g *rand.Rand, of ...T) T { return of[g.IntN(len(of))] }

func randomAllocation(g *rand.Rand) cluster.Allocation {
	a := cluster.Allocation{Limit: cluster.Unlimited, Shares: 1 + g.Int64N(5), Expandable: g.IntN(2) == 0}
	if g.IntN(3) == 0 {
		a.Reservation = g.Int64N(200)
	}
	if g.IntN(3) == 0 {
		a.Limit = g.Int64N(400)
	}
	if g.IntN(40) == 0 {
		a = cluster.Allocation{Reservation: pick[int64](g, -5, cluster.Unlimited), Limit: pick[int64](g, -1, 0, cluster.Unlimited), Shares: pick[int64](g, -7, 0, cluster.Unlimited)}
	}
	return a
}

// random is a small cluster of a tree of any shape, with amounts in the hundreds.
func random(g *rand.Rand) *cluster.Cluster {
	c := &cluster.Cluster{Hosts: make([]cluster.Host, 1+g.IntN(3))}
	c.Settings.ScalablePool = g.IntN(4) == 0
	for i := range c.Hosts {
		c.Hosts[i] = cluster.Host{Name: fmt.Sprint("h", i), State: cluster.Connected, Sockets: 1, NodesPerSocket: 1, CoresPerNode: 16, ThreadsPerCore: 1, MHz: 50, Memory: 1 + g.Int64N(1000), Factor: 1000}
	}
	pools, vms := 1+g.IntN(7), g.IntN(15)
	names := g.Perm(pools + vms)
	for i := range pools {
		c.Pools = append(c.Pools, cluster.Pool{Name: fmt.Sprint("n", names[i]), Parent: cluster.PoolID(g.IntN(max(1, i))), CPU: randomAllocation(g), Mem: randomAllocation(g),
			Level: pick(g, cluster.ShareLow, cluster.ShareNormal, cluster.ShareHigh, cluster.ShareCustom), Scalable: g.IntN(4) == 0})
	}
	c.Pools[0].Parent = cluster.Nowhere
	for i := range vms {
		c.VMs = append(c.VMs, cluster.VM{Name: fmt.Sprint("n", names[pools+i]), Pool: cluster.PoolID(g.IntN(pools)), VCPUs: 1 + g.IntN(4), Memory: g.Int64N(200),
			Host: cluster.HostID(g.IntN(len(c.Hosts))), CPU: randomAllocation(g), Mem: randomAllocation(g), Overhead: g.Int64N(10), Demand: randomDemand(g)})
	}
	return c
}

func randomDemand(g *rand.Rand) cluster.Demand {
	return cluster.Demand{CPU: cluster.Steady(g.Float64() * 200), Active: cluster.Steady(g.Float64() * 200), Consumed: g.Int64N(250)}
}

// oracle divides as the source describes: two passes, each by definition.
func oracle(e *Entitlements, r cluster.Resource, p int32, give []int64) {
	kids := slices.Clone(e.tree.children(p))
	claims := make([]claim, len(kids))
	for i, k := range kids {
		x := e.terms[r][k]
		claims[i] = claim{floor: x.floor, most: x.want, weight: x.weight}
	}
	got, given := oracleFill(claims, give[p]), int64(0)
	for _, n := range got {
		given += n
	}
	if given < give[p] {
		for i, k := range kids {
			claims[i].floor, claims[i].most = got[i], e.terms[r][k].most
		}
		got = oracleFill(claims, give[p])
	}
	for i, k := range kids {
		give[k] = got[i]
		if int(k) < e.tree.pools {
			oracle(e, r, k, give)
		}
	}
}

func TestTreeAgainstOracle(t *testing.T) {
	g := rand.New(rand.NewPCG(7, 8))
	for range often(2000) {
		c := random(g)
		e := Divide(c, cluster.NewIndex(c), cluster.Resources{CPU: g.Int64N(3000), Memory: g.Int64N(3000)}, func(v cluster.VMID) bool { return v%5 != 4 })
		for _, r := range cluster.BothResources {
			want := make([]int64, len(e.tree.parent))
			want[0] = e.split[r].give[0]
			small := true
			for _, x := range e.terms[r] {
				small = small && x.floor < 1<<40
			}
			if !small {
				continue // the oracle's sums would overflow
			}
			oracle(e, r, 0, want)
			if !slices.Equal(e.split[r].give, want) {
				t.Fatalf("%v: %d, want %d\n%+v", r, e.split[r].give, want, c)
			}
		}
	}
}

func TestInvariants(t *testing.T) {
	g := rand.New(rand.NewPCG(9, 10))
	for range 5000 {
		c := random(g)
		e := Divide(c, cluster.NewIndex(c), cluster.Resources{CPU: g.Int64N(3000), Memory: g.Int64N(3000)}, nil)
		for _, r := range cluster.BothResources {
			for p := range e.tree.pools {
				checkPool(t, e, r, int32(p))
			}
		}
	}
}

// TestMoreIsNotLess: more capacity, or more shares of its own, costs no VM anything but a unit
// of rounding at each level above it.
func TestMoreIsNotLess(t *testing.T) {
	g := rand.New(rand.NewPCG(15, 16))
	for range often(1000) {
		c := random(g)
		capacity := cluster.Resources{CPU: g.Int64N(3000), Memory: g.Int64N(3000)}
		x := cluster.NewIndex(c)
		e := Divide(c, x, capacity, nil)
		more := Divide(c, x, capacity.Plus(cluster.Resources{CPU: 1 + g.Int64N(50), Memory: 1 + g.Int64N(50)}), nil)
		check := func(what string, v cluster.VMID, o *Entitlements) {
			levels := int64(0)
			for p := e.tree.parent[e.tree.leaf(v)]; p >= 0; p = e.tree.parent[p] {
				levels++
			}
			if was, is := e.VM(v), o.VM(v); is.CPU < was.CPU-levels || is.Memory < was.Memory-levels {
				t.Fatalf("VM %d has %v, and %v with more %s: %+v", v, was, is, what, c)
			}
		}
		for i := range c.VMs {
			check("capacity", cluster.VMID(i), more)
		}
		if c.Settings.ScalablePool || slices.ContainsFunc(c.Pools, func(p cluster.Pool) bool { return p.Scalable }) || len(c.VMs) == 0 {
			continue // its shares then also count for its neighbours
		}
		v := g.IntN(len(c.VMs))
		c.VMs[v].CPU.Shares, c.VMs[v].Mem.Shares = max(1, min(c.VMs[v].CPU.Shares, 1000))*2, max(1, min(c.VMs[v].Mem.Shares, 1000))*2
		if was := e.terms[cluster.CPU][e.tree.leaf(cluster.VMID(v))]; was.weight <= 1000 {
			check("shares", cluster.VMID(v), Divide(c, x, capacity, nil))
		}
	}
}

func checkPool(t *testing.T, e *Entitlements, r cluster.Resource, p int32) {
	t.Helper()
	d, given, full := &e.split[r], int64(0), true
	for _, k := range e.tree.children(p) {
		x, got := e.terms[r][k], d.give[k]
		given += got
		full = full && got == x.most
		if got > x.most || got < x.floor && !d.short[p] {
			t.Fatalf("%v: node %d has %d, not within %+v", r, k, got, x)
		}
		for _, o := range e.tree.children(p) {
			y := e.terms[r][o]
			above := func(x terms, n int64) bool { return n > x.floor && n != x.want && n < x.most }
			if d.short[p] || !above(x, got) || !above(y, d.give[o]) {
				continue
			}
			// got/x.weight and its sibling's differ by the rounding of a unit each.
			if gap := got*y.weight - d.give[o]*x.weight; max(gap, -gap) > x.weight+y.weight {
				t.Fatalf("%v: %d of weight %d beside %d of weight %d", r, got, x.weight, d.give[o], y.weight)
			}
		}
	}
	if given > d.give[p] || given < d.give[p] && !full {
		t.Fatalf("%v: pool %d hands out %d of %d", r, p, given, d.give[p])
	}
}

// TestUpdateIsDivide: after any changes the result equals that of a new division, bit for bit.
func TestUpdateIsDivide(t *testing.T) {
	g := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		c := random(g)
		if len(c.VMs) == 0 {
			continue
		}
		runs := make([]bool, len(c.VMs))
		capacity := cluster.Resources{CPU: g.Int64N(2000), Memory: g.Int64N(2000)}
		is := func(v cluster.VMID) bool { return runs[v] }
		e := Divide(c, cluster.NewIndex(c), capacity, is)
		for range 20 {
			v := cluster.VMID(g.IntN(len(c.VMs)))
			switch g.IntN(4) {
			case 0:
				runs[v] = !runs[v]
				e.Run(v, runs[v])
			case 1:
				capacity = cluster.Resources{CPU: g.Int64N(2000), Memory: g.Int64N(2000)}
				e.Resize(capacity)
			default:
				c.VMs[v].Demand = randomDemand(g)
				e.Update(v, cluster.NewIndex(c).Demand(v))
			}
			fresh := Divide(c, cluster.NewIndex(c), capacity, is)
			asked := cluster.VMID(g.IntN(len(c.VMs)))
			if e.VM(asked) != fresh.VM(asked) {
				t.Fatalf("VM %d: %v, want %v", asked, e.VM(asked), fresh.VM(asked))
			}
			if g.IntN(3) > 0 {
				continue
			}
			e.Settle()
			for _, r := range cluster.BothResources {
				if !slices.Equal(e.split[r].give, fresh.split[r].give) || !slices.Equal(e.split[r].short, fresh.split[r].short) {
					t.Fatalf("%v: %v, want %v", r, e.split[r].give, fresh.split[r].give)
				}
			}
		}
	}
}

// shuffled is the same cluster with its lists in another order.
func shuffled(g *rand.Rand, c *cluster.Cluster) *cluster.Cluster {
	n := &cluster.Cluster{Hosts: c.Hosts, Settings: c.Settings}
	at := make([]cluster.PoolID, len(c.Pools))
	rank := make([]int, len(c.Pools))
	for i := range rank {
		rank[i] = g.Int()
	}
	ready := []int{0}
	for len(ready) > 0 {
		slices.SortFunc(ready, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
		i := ready[0]
		ready = ready[1:]
		at[i] = cluster.PoolID(len(n.Pools))
		p := c.Pools[i]
		if i > 0 {
			p.Parent = at[p.Parent]
		}
		n.Pools = append(n.Pools, p)
		for k := 1; k < len(c.Pools); k++ {
			if int(c.Pools[k].Parent) == i {
				ready = append(ready, k)
			}
		}
	}
	for _, i := range g.Perm(len(c.VMs)) {
		v := c.VMs[i]
		v.Pool = at[v.Pool]
		n.VMs = append(n.VMs, v)
	}
	return n
}

func TestOrderOfListsHasNoInfluence(t *testing.T) {
	g := rand.New(rand.NewPCG(13, 14))
	for range 2000 {
		c := random(g)
		capacity := cluster.Resources{CPU: g.Int64N(2000), Memory: g.Int64N(2000)}
		byName := func(c *cluster.Cluster) map[string]cluster.Resources {
			e, m := Divide(c, cluster.NewIndex(c), capacity, nil), map[string]cluster.Resources{}
			for i := range c.VMs {
				m[c.VMs[i].Name] = e.VM(cluster.VMID(i))
			}
			return m
		}
		want := byName(c)
		for name, got := range byName(shuffled(g, c)) {
			if got != want[name] {
				t.Fatalf("%s: %v, want %v", name, got, want[name])
			}
		}
	}
}

// TestBrokenTrees: trees that no snapshot allows are divided nevertheless.
func TestBrokenTrees(t *testing.T) {
	for _, c := range []*cluster.Cluster{
		{},
		{VMs: []cluster.VM{{Pool: 9}, {Pool: -3}}},
		{Pools: []cluster.Pool{{Parent: 3}, {Parent: 2}, {Parent: 1}}, VMs: []cluster.VM{{Pool: 2, VCPUs: -1, Memory: -1, Overhead: -1}}},
	} {
		e := Divide(c, cluster.NewIndex(c), cluster.Resources{CPU: -1, Memory: cluster.Unlimited}, nil)
		l := NewLedger(c, cluster.NewIndex(c), cluster.Resources{CPU: cluster.Unlimited, Memory: -5}, nil)
		for i := range c.VMs {
			if got := e.VM(cluster.VMID(i)); got.CPU != 0 {
				t.Errorf("something out of nothing: %v", got)
			}
			l.Admit(cluster.VMID(i))
		}
	}
}

// Run starts a VM, or stops it.
func (e *Entitlements) Run(v cluster.VMID, runs bool) {
	e.running[v] = runs
	e.refresh(v)
}

// Resize changes the capacity of the cluster.
func (e *Entitlements) Resize(capacity cluster.Resources) {
	for _, r := range cluster.BothResources {
		if d, amount := &e.split[r], within(r.Of(capacity)); d.give[0] != amount {
			d.give[0] = amount
			d.spoil(0)
		}
	}
}
