package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// sizes of inventories: two disks a machine, 20 policies and 50 datastores.
var sizes = []int{100, 1000, 10_000, 25_000, 250_000}

func sized(b *testing.B, vms int) (*Inventory, *Checker) {
	b.Helper()
	inv := made{vms: vms, disks: 2, policies: 20, stores: 50}.inventory(1)
	c, err := New(inv, 1)
	if err != nil {
		b.Fatal(err)
	}
	return inv, c
}

// BenchmarkNew validates, indexes and checks an inventory, on one core.
func BenchmarkNew(b *testing.B) {
	for _, n := range sizes {
		inv, _ := sized(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(inv, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCheckAll checks all of what is indexed already.
func BenchmarkCheckAll(b *testing.B) {
	for _, n := range sizes {
		for _, workers := range []int{1, 2} {
			_, c := sized(b, n)
			b.Run(fmt.Sprintf("%d/workers=%d", n, workers), func(b *testing.B) {
				for b.Loop() {
					c.CheckAll(workers)
				}
			})
		}
	}
}

// BenchmarkChange tells the checker of one change.
func BenchmarkChange(b *testing.B) {
	for _, n := range sizes {
		inv, c := sized(b, n)
		generation := int64(1 << 41)
		judged := func(b *testing.B, set func() (int, error)) {
			judged := 0
			for b.Loop() {
				generation++
				k, err := set()
				if err != nil {
					b.Fatal(err)
				}
				judged = max(judged, k)
			}
			b.ReportMetric(float64(judged), "objects")
		}
		// A policy has its objects out of date and back.
		p := inv.Policies[1]
		b.Run(fmt.Sprintf("policy/%d", n), func(b *testing.B) {
			judged(b, func() (int, error) {
				p.Generation = 3 + generation%2
				return c.SetPolicy(p)
			})
		})
		// A datastore loses all that it offers and gets it back.
		full, empty := inv.Datastores[1], Datastore{Name: inv.Datastores[1].Name}
		b.Run(fmt.Sprintf("datastore/%d", n), func(b *testing.B) {
			judged(b, func() (int, error) {
				d := full
				if generation%2 == 0 {
					d = empty
				}
				d.Generation = generation
				return c.SetDatastore(d)
			})
		})
		v := inv.VMs[n/2]
		v.Disks = slices.Clone(v.Disks)
		b.Run(fmt.Sprintf("vm/%d", n), func(b *testing.B) {
			judged(b, func() (int, error) {
				v.Disks[0].Generation = generation
				v.Disks[0].Datastore = inv.Datastores[generation%50].Name
				return c.SetVM(v)
			})
		})
	}
}

// BenchmarkFollow finds one change in a newer inventory by its generations.
func BenchmarkFollow(b *testing.B) {
	for _, n := range sizes {
		_, c := sized(b, n)
		inv, _ := sized(b, n) // a reading of its own, with its own texts
		generation := int64(1 << 41)
		b.Run(fmt.Sprintf("vm/%d", n), func(b *testing.B) {
			for b.Loop() {
				generation++
				inv.VMs[n/2].Home.Generation = generation
				if k, err := c.Follow(inv); err != nil || k != 3 {
					b.Fatal(k, err)
				}
			}
		})
		other := shuffled(inv, rand.New(rand.NewPCG(1, 1)))
		b.Run(fmt.Sprintf("reordered/%d", n), func(b *testing.B) {
			for b.Loop() {
				generation++
				other.VMs[n/2].Home.Generation = generation
				if k, err := c.Follow(other); err != nil || k > 6 {
					b.Fatal(k, err)
				}
			}
		})
		b.Run(fmt.Sprintf("policy/%d", n), func(b *testing.B) {
			for b.Loop() {
				generation++
				inv.Policies[1].Generation = 3 + generation%2
				if _, err := c.Follow(inv); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReport sums up when two thirds of the objects are in trouble.
func BenchmarkReport(b *testing.B) {
	for _, n := range sizes {
		_, c := sized(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				c.Report()
			}
		})
	}
}
