package snapshot

import (
	"testing"

	"plimsoll/internal/cluster/clustertest"
)

// The largest cluster that vCenter manages.
func BenchmarkReadJSON(b *testing.B) { benchmarkRead(b, "c.json") }
func BenchmarkReadYAML(b *testing.B) { benchmarkRead(b, "c.yaml") }

func benchmarkRead(b *testing.B, name string) {
	c := clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 2000, VMs: 25000, Pools: 200, Load: .5})
	write := asYAML
	if name == "c.json" {
		write = asJSON
	}
	text := written(b, c, write)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Read(name, text); err != nil {
			b.Fatal(err)
		}
	}
}
