package power_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/factor"
	"plimsoll/internal/factor/power"
	"plimsoll/internal/platforms/local"
)

// Every factor that this machine has is set, read back and put back.
func TestRealPowerProfile(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" || os.Getuid() != 0 {
		t.Skip("set PLIMSOLL_REAL=1 and run as root to change settings of this machine and put them back")
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const cpu = "/sys/devices/system/cpu/cpu0/"
	for _, f := range power.Factors() {
		t.Run(f.Name, func(t *testing.T) {
			file := map[string]string{"host.governor": "cpufreq/scaling_governor", "host.energy_preference": "cpufreq/energy_performance_preference", "host.idle_limit": "cpuidle/state1/disable"}[f.Name]
			place := factor.Env{Machine: p.Machine()}
			before, err := f.Get(t.Context(), place)
			if errors.Is(err, errors.ErrUnsupported) {
				t.Skip(err)
			}
			shown := contents(t, cpu+file)
			for _, level := range []string{f.Example[1], map[string]string{"host.idle_limit": "0s"}[f.Name], before} {
				if level == "" {
					continue
				}
				want, err := f.Accept(t.Context(), place, level)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Set(t.Context(), place, level); err != nil {
					t.Fatal(err)
				}
				if got, err := f.Get(t.Context(), place); err != nil || got != want {
					t.Errorf("%s: read back %q, %v, want %q", level, got, err, want)
				}
				if level == "0s" && contents(t, cpu+file) != "1" {
					t.Errorf("the kernel shows no disabled state")
				}
			}
			if now := contents(t, cpu+file); now != shown {
				t.Errorf("%s holds %q, was %q", file, now, shown)
			}
		})
	}
}

func contents(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
