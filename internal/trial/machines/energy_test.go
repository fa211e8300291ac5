package machines

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/study"
)

// packages writes the files of a host with one processor package, below a folder.
func packages(t *testing.T, root, microjoules string) {
	t.Helper()
	dir := filepath.Join(root, "sys/class/powercap/intel-rapl:0")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"name": "package-0\n", "energy_uj": microjoules + "\n", "max_energy_range_uj": "262143328850\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The counter of the host's package begins again from 0 during the load.
func TestEnergyOfThePackages(t *testing.T) {
	root := t.TempDir()
	packages(t, root, "262141328850")
	s, err := OpenEnergy(t.Context(), os.DirFS(root), nil)
	if err != nil || s.Own {
		t.Fatalf("%+v, %v", s, err)
	}
	e := s.Follow(t.Context())
	from := time.Now()
	packages(t, root, "38000000")
	to := time.Now()
	e.End(t.Context())
	watts, err := e.Watts(from, to)
	if joules := watts * to.Sub(from).Seconds(); err != nil || joules <= 0 || joules > 40.001 { // of the 40 J between the readings
		t.Errorf("%g J, %v", joules, err)
	}
	if got := e.Source(); got != "2 readings of processor packages (RAPL: package-0), without memory, disks, fans and power supplies" {
		t.Errorf("source %q", got)
	}
}

func TestNoEnergy(t *testing.T) {
	_, err := OpenEnergy(t.Context(), os.DirFS(t.TempDir()), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "this host shows no energy: ") || !strings.HasSuffix(err.Error(), "; or name a source in measure.energy") {
		t.Errorf("got %v", err)
	}
	none := (*EnergySource)(nil).Follow(t.Context())
	none.End(t.Context())
	if none != nil {
		t.Errorf("no source is followed by %+v", none)
	}
}

// The study's own source comes first.
func TestOwnEnergy(t *testing.T) {
	root := t.TempDir()
	packages(t, root, "5")
	name := filepath.Join(root, "meter")
	if err := os.WriteFile(name, []byte("40000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := OpenEnergy(t.Context(), os.DirFS(root), &study.Energy{File: name, Unit: "mW", Every: time.Hour})
	if err != nil || !s.Own {
		t.Fatalf("%+v, %v", s, err)
	}
	e := s.Follow(t.Context())
	from := time.Now()
	e.End(t.Context())
	if watts, err := e.Watts(from, from.Add(time.Nanosecond)); err != nil || math.Abs(watts-40) > 1e-6 {
		t.Errorf("%g W, %v", watts, err)
	}
}
