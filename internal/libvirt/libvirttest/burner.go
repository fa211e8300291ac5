package libvirttest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

//go:embed testdata/burner.bin
var burner []byte

// The bytes of a burner that say what it does.
const (
	dutyAt  = 32
	dirtyAt = 33
)

// Burner is a guest that burns CPU.
type Burner struct {
	Name  string
	Load  int  // per cent of a vCPU, in steps of 5
	Dirty bool // it writes to 8 MiB of memory while it does
}

// Domain is the XML of the guest, with its kernel in a folder: diskless, of 16 MiB, under TCG.
// testdata/burner.s is its source.
func (b Burner) Domain(t testing.TB, folder string) string {
	t.Helper()
	image := append([]byte(nil), burner...)
	image[dutyAt] = byte(b.Load / 5)
	kind := "clean"
	if b.Dirty {
		image[dirtyAt], kind = 1, "dirty"
	}
	kernel := filepath.Join(folder, fmt.Sprintf("burner-%d-%s", b.Load, kind))
	if err := os.WriteFile(kernel, image, 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`<domain type='qemu'><name>%s</name><memory unit='MiB'>16</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>%s</kernel></os>
<features><acpi/><tcg><tb-cache unit='MiB'>8</tb-cache></tcg></features>
<cpu mode='custom' match='exact' check='none'><model fallback='forbid'>qemu64</model></cpu>
<devices><controller type='usb' model='none'/><memballoon model='none'/></devices></domain>`, b.Name, kernel)
}
