package sim_test

import (
	"flag"
	"testing"

	"plimsoll/internal/effort"
)

// Simulators of one process share devices of govmomi, to which the creation of a VM writes: a test starts its simulator
// before it calls t.Parallel, and creates no VM after. A simulator has many small files: folders and descriptions of VMs.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // those that run in parallel wait for simulated tasks
		panic(err)
	}
	effort.InMemory()
	effort.CollectSeldom()
	m.Run()
}
