package vsphere_test

import (
	"testing"

	"plimsoll/internal/effort"
)

// A simulator has many small files: folders and descriptions of VMs.
func TestMain(m *testing.M) {
	effort.InMemory()
	effort.CollectSeldom()
	m.Run()
}
