package policy

import (
	"fmt"
	"testing"
)

// sizes of inventories: two disks a VM, 20 policies and 50 datastores.
var sizes = []int{100, 1000, 10_000, 25_000, 250_000}

func sized(b *testing.B, vms int) (*Inventory, *Checker) {
	b.Helper()
	inv := made{vms: vms, disks: 2, policies: 20, stores: 50}.inventory(1)
	c, err := New(inv)
	if err != nil {
		b.Fatal(err)
	}
	return inv, c
}

// BenchmarkNew validates, indexes and checks an inventory.
func BenchmarkNew(b *testing.B) {
	for _, n := range sizes {
		inv, _ := sized(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(inv); err != nil {
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
