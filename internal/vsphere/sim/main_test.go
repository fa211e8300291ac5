package sim_test

import (
	"flag"
	"os"
	"testing"

	"plimsoll/internal/effort"
)

// A simulator has many small files: folders and descriptions of VMs.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // those that run in parallel wait for simulated tasks
		panic(err)
	}
	if err := os.Setenv("SIM_PASSWORD", "secret"); err != nil { // which addresses refer to
		panic(err)
	}
	effort.InMemory()
	effort.CollectSeldom()
	m.Run()
}
