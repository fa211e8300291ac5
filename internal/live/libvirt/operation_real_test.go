package libvirt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/libvirt/libvirttest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/libvirt/operation"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/managementtest"
)

// hosts are three libvirt daemons with a shared folder of disks, and the address of their
// list.
type hosts struct {
	at      live.Address
	folder  string
	daemons []*libvirttest.Daemon
}

func lab(t *testing.T) (h hosts) {
	t.Helper()
	names := []string{"alpha", "beta", "gamma"}
	var err error
	h.folder, err = os.MkdirTemp("", "plimsoll-pool-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := os.ReadDir(h.folder); err != nil || len(left) > 0 {
			t.Errorf("disks are left: %v, %v", left, err)
		}
		if err := os.RemoveAll(h.folder); err != nil {
			t.Error(err)
		}
	})
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start libvirt daemons")
	}
	h.daemons = libvirttest.HostsSharing(t, h.folder, names...)
	text := "cluster: lab\ndatastores: [" + libvirttest.Pool + "]\nhosts:\n"
	for i, d := range h.daemons {
		text += fmt.Sprintf("- {name: %s, uri: \"%s\", migration: tcp://127.0.0.1}\n", names[i], d.URI("qemu", "/session"))
	}
	file := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if h.at, err = live.ParseAddress("libvirt://" + file); err != nil {
		t.Fatal(err)
	}
	return h
}

// Real daemons and emulated guests: each operation has its effect, and the workload restores
// the domains and removes them.
func TestLibvirtForReal(t *testing.T) {
	t.Parallel()
	at := lab(t).at
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if missing, err := p.(management.Privileged).Missing(t.Context(), nil); err != nil || len(missing) > 0 {
		t.Errorf("privileges %v, %v", missing, err)
	}
	t.Run("conformance", func(t *testing.T) {
		managementtest.Run(t, managementtest.Subject{Platform: p, Size: management.Size{CPUs: 1, Memory: 16 << 20, Disk: 1 << 20}, Unknown: strings.Repeat("a0", 16)})
	})
	t.Run("workload", func(t *testing.T) { runs(t, at, p) })
}

const list = "power-on 4, power-off 3, suspend 1, create 1, clone 1, delete 2, reconfigure 2, relocate 1, migrate 2, snapshot 1, revert 1, remove-snapshots 1, register 1"

// loadOf is the workload with the listed operations on the hosts of an address.
func loadOf(t *testing.T, at live.Address, owner string) (workload.Load, workload.Env) {
	t.Helper()
	l, err := operations.Kind(map[string]management.Opener{"libvirt": func(ctx context.Context, _ load.Endpoint) (management.Platform, error) {
		return operation.Open(ctx, at)
	}}).
		New(parameter.Settings{"vms": "9", "threads": "4", "memory": "16MiB", "disk": "1MiB", "run_list": list, "owner": owner})
	if err != nil {
		t.Fatal(err)
	}
	return l, workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return load.Endpoint{Network: "tcp"}, nil }}
}

func runs(t *testing.T, at live.Address, p management.Platform) {
	l, env := loadOf(t, at, "real")
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	done := map[string]int64{}
	all := func() bool {
		return !slices.ContainsFunc(strings.Split(list, ", "), func(entry string) bool {
			kind, _, _ := strings.Cut(entry, " ")
			return done[kind] == 0
		})
	}
	out := measure.NewRecorder(func(r *measure.Recorder) bool {
		intervals := r.Intervals()
		for _, s := range intervals[len(intervals)-1].Samples {
			done[s.Class] += s.Operations
		}
		return all()
	})
	if err := l.Run(t.Context(), env, load.Stage{Length: time.Minute, Interval: time.Second, Seed: 1}, out); err != nil {
		t.Fatal(err)
	}
	data := false
	for _, c := range out.Checks() {
		t.Logf("%s: %s: %s", c.Name, c.State, c.Detail)
		data = data || c.Name == "data" && c.State == measure.Pass
		if c.Name == "faults" {
			t.Errorf("%+v", c)
		}
	}
	if t.Logf("operations: %v", done); !all() {
		t.Errorf("not all operations were done in a minute: %v", done)
	}
	if !data {
		t.Error("the domains are not as the operations left them")
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Survey(t.Context(), "plimsoll-", "made by plimsoll, workload operations"); err != nil || len(s.VMs) > 0 {
		t.Errorf("left are %+v, %v", s.VMs, err)
	}
}
