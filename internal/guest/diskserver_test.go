package guest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/guest/diskserver"
	"plimsoll/internal/guest/spec"
)

// A server that does not come up says why, and leaves nothing.
func TestAServerThatDoesNotComeUp(t *testing.T) {
	dir := t.TempDir()
	r, err := spec.ParseRoute("null")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := diskserver.Start(t.Context(), "/bin/false", diskserver.Disk{Route: r, Socket: filepath.Join(dir, "s"), File: filepath.Join(dir, "f")}); err == nil || !strings.Contains(err.Error(), "serve the guest's disk by null") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if s, err := diskserver.Start(t.Context(), "", diskserver.Disk{Route: spec.Route{Server: spec.NoServer}}); s != nil || err != nil {
		t.Errorf("%v, %v", s, err)
	}
}
