package tuner

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/hostlock"
	"plimsoll/internal/hoststat/tenants"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/restore"
)

// kernel is a machine with settings of interfaces, and no ethtool.
type kernel struct {
	files   map[string]string
	refuse  string // a file that takes no writes
	written []string
	claims  []string
	held    bool // another run has claimed everything
}

func (k *kernel) Name() string              { return "kernel" }
func (k *kernel) Machine() platform.Machine { return k }
func (k *kernel) Close() error              { return nil }

func (k *kernel) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	return platform.Result{}, &exec.Error{Name: c.Argv[0], Err: fs.ErrNotExist}
}

func (k *kernel) ReadFile(_ context.Context, name string) ([]byte, error) {
	text, ok := k.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(text + "\n"), nil
}

func (k *kernel) WriteFile(_ context.Context, name string, data []byte) error {
	if _, ok := k.files[name]; !ok {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if name == k.refuse {
		return &fs.PathError{Op: "write", Path: name, Err: errors.New("invalid argument")}
	}
	k.files[name] = string(data)
	k.written = append(k.written, filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)+"="+string(data))
	return nil
}

func (k *kernel) Claim(_ context.Context, c platform.Claim) (func(), error) {
	if k.held {
		return nil, errors.New("in use by another run")
	}
	k.claims = append(k.claims, c.Names...)
	return func() {
		k.claims = slices.DeleteFunc(k.claims, func(name string) bool { return slices.Contains(c.Names, name) })
	}, nil
}

func path(name, file string) string { return "/sys/class/net/" + name + "/" + file }

// plug adds an interface.
func (k *kernel) plug(name, timeout, deferral string) {
	k.files[path(name, "ifindex")] = "7"
	k.files[path(name, "gro_flush_timeout")], k.files[path(name, "napi_defer_hard_irqs")] = timeout, deferral
}

func (k *kernel) pull(name string) {
	for file := range k.files {
		if strings.HasPrefix(file, path(name, "")) {
			delete(k.files, file)
		}
	}
}

// at are the two settings of an interface.
func (k *kernel) at(name string) string {
	return k.files[path(name, "gro_flush_timeout")] + " " + k.files[path(name, "napi_defer_hard_irqs")]
}

// bench is a batcher on a kernel, with its own undo log.
type bench struct {
	*batcher
	*kernel
	links []tenants.Link
	logs  string
}

func cable(name string) tenants.Link {
	return tenants.Link{Name: name, Kind: "veth", Up: true, Namespace: 1, NAPI: true}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{kernel: &kernel{files: map[string]string{}}, logs: filepath.Join(t.TempDir(), "undo")}
	b.plug("va", "0", "0")
	b.plug("vb", "20000", "1")
	b.links = []tenants.Link{cable("va"), cable("vb"), {Name: "lo", Up: true, Loopback: true, Namespace: -1}}
	network, err := hostlock.NetworkNamespace()
	if err != nil {
		t.Fatal(err)
	}
	use := study.Use{Kind: "local"}
	j, err := journal.Alone(&journal.Begin{Run: journal.NewRun(), Dir: "/tuner", Platform: use, Network: network}, b.logs, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	b.batcher = &batcher{
		inventory: &machines.Inventory{Platform: b.kernel, Use: use, Machine: b.kernel, Catalog: Defaults().catalog()},
		journal:   j, links: func() ([]tenants.Link, error) { return b.links, nil }, hold: 200 * time.Microsecond,
		known: map[string]*known{},
	}
	return b
}

func (b *bench) mustBe(t *testing.T, want map[string]string) {
	t.Helper()
	for name, levels := range want {
		if got := b.kernel.at(name); got != levels {
			t.Errorf("%s is at %q, want %q", name, got, levels)
		}
	}
}

// clean asserts that an outcome has no error and no notes.
func clean(t *testing.T, out outcome) {
	t.Helper()
	if out.err != nil || len(out.notes) > 0 {
		t.Fatalf("error %v, notes %q", out.err, out.notes)
	}
}

const batched = "200000 100"

func TestOnAndOff(t *testing.T) {
	b := newBench(t)
	if b.Left() {
		t.Error("something is left before the first change")
	}
	out := b.On(t.Context())
	clean(t, out)
	b.mustBe(t, map[string]string{"va": batched, "vb": batched})
	want := []string{
		`host.gro_flush_timeout:va set from "0s" to "200µs"`, `host.napi_deferral:va set from "0" to "100"`,
		`host.gro_flush_timeout:vb set from "20µs" to "200µs"`, `host.napi_deferral:vb set from "1" to "100"`,
	}
	if !slices.Equal(out.changes, want) {
		t.Errorf("said %q, want %q", out.changes, want)
	}
	if !b.Left() || !slices.Contains(b.kernel.claims, path("va", "gro_flush_timeout")) {
		t.Errorf("left %v, claims %q", b.Left(), b.kernel.claims)
	}
	writes := len(b.written)
	clean(t, b.On(t.Context()))
	if len(b.written) != writes {
		t.Errorf("an interface that is batched was written: %q", b.written[writes:])
	}
	clean(t, b.Off(t.Context()))
	b.mustBe(t, map[string]string{"va": "0 0", "vb": "20000 1"})
	if b.Left() || len(b.kernel.claims) > 0 {
		t.Errorf("left %v, claims %q", b.Left(), b.kernel.claims)
	}
	clean(t, b.On(t.Context()))
	b.mustBe(t, map[string]string{"va": batched, "vb": batched})
}

func TestEachChangeIsInTheUndoLogBefore(t *testing.T) {
	b := newBench(t)
	b.kernel.refuse = path("va", "napi_defer_hard_irqs")
	b.links = b.links[:1]
	out := b.On(t.Context())
	if len(out.notes) != 1 || !strings.Contains(out.notes[0], "va is left alone: ") || len(out.changes) > 0 {
		t.Errorf("notes %q, changes %q", out.notes, out.changes)
	}
	b.mustBe(t, map[string]string{"va": "0 0"})
	if b.Left() {
		t.Error("something is left")
	}
	if want := []string{"va/gro_flush_timeout=200000", "va/gro_flush_timeout=0"}; !slices.Equal(b.written, want) {
		t.Errorf("written %q, want %q", b.written, want)
	}
	if again := b.On(t.Context()); len(again.notes) > 0 {
		t.Errorf("said again: %q", again.notes)
	}
}

func TestInterfacesThatComeAndGo(t *testing.T) {
	b := newBench(t)
	clean(t, b.On(t.Context()))
	b.kernel.plug("vc", "0", "0")
	b.kernel.pull("va")
	b.links = []tenants.Link{cable("vb"), cable("vc")}
	out := b.On(t.Context())
	clean(t, out)
	b.mustBe(t, map[string]string{"vb": batched, "vc": batched})
	if !slices.Contains(out.changes, "host.napi_deferral:va ended with its interface") {
		t.Errorf("said %q", out.changes)
	}
	if slices.Contains(b.kernel.claims, path("va", "gro_flush_timeout")) {
		t.Errorf("the claim of an interface that is gone stays: %q", b.kernel.claims)
	}
	// A VM that restarts has a new interface of the same name.
	b.kernel.pull("vb")
	b.kernel.plug("vb", "0", "0")
	b.links[0].Index = 9
	clean(t, b.On(t.Context()))
	b.mustBe(t, map[string]string{"vb": batched})
	b.kernel.pull("vc")
	clean(t, b.Off(t.Context()))
	if b.Left() {
		t.Error("the settings of an interface that is gone are left")
	}
}

func TestAChangeOfAnotherProgramIsLeft(t *testing.T) {
	b := newBench(t)
	clean(t, b.On(t.Context()))
	b.kernel.files[path("va", "gro_flush_timeout")] = "5000"
	out := b.On(t.Context())
	if len(out.notes) != 1 || !strings.Contains(out.notes[0], "another program changed it") {
		t.Errorf("notes %q", out.notes)
	}
	clean(t, b.Off(t.Context()))
	b.mustBe(t, map[string]string{"va": "5000 0", "vb": "20000 1"})
}

func TestWhoseInterfacesAreBatched(t *testing.T) {
	for _, test := range []struct {
		name string
		link tenants.Link
		only []string
		note string // empty for one that is batched, "-" for one that is none of the tuner's business
	}{
		{"cable of a container", cable("va"), nil, ""},
		{"TAP with NAPI", tenants.Link{Name: "va", Kind: "tun", Up: true, Namespace: -1, NAPI: true}, nil, ""},
		{"network card", tenants.Link{Name: "va", Physical: true, Up: true, Namespace: -1, NAPI: true}, nil, ""},
		{"named bridge", tenants.Link{Name: "va", Kind: "bridge", Up: true, Namespace: -1}, []string{"va"}, "not polled"},
		{"without offload", tenants.Link{Name: "va", Kind: "veth", Up: true, Namespace: 1}, nil, "ethtool -K va gro on"},
		{"TAP without NAPI", tenants.Link{Name: "va", Kind: "tun", Up: true, Namespace: -1}, nil, "IFF_NAPI"},
		{"bridge", tenants.Link{Name: "va", Kind: "bridge", Up: true, Namespace: -1}, nil, "-"},
		{"down", tenants.Link{Name: "va", Kind: "veth", Namespace: 1, NAPI: true}, nil, "-"},
		{"not named", cable("va"), []string{"vb"}, "-"},
		{"both ends here", tenants.Link{Name: "va", Kind: "veth", Up: true, Namespace: -1, NAPI: true}, nil, "-"},
	} {
		b := newBench(t)
		b.links, b.only = []tenants.Link{test.link}, test.only
		out := b.On(t.Context())
		switch {
		case out.err != nil:
			t.Errorf("%s: %v", test.name, out.err)
		case test.note == "" && (b.kernel.at("va") != batched || len(out.notes) > 0):
			t.Errorf("%s: at %q, notes %q", test.name, b.kernel.at("va"), out.notes)
		case test.note == "-" && (b.Left() || len(out.notes) > 0):
			t.Errorf("%s: changed %v, notes %q", test.name, b.Left(), out.notes)
		case test.note != "" && test.note != "-" && (b.Left() || len(out.notes) != 1 || !strings.Contains(out.notes[0], test.note)):
			t.Errorf("%s: changed %v, notes %q, want %q", test.name, b.Left(), out.notes, test.note)
		}
	}
}

func TestSettingsOfAnotherRunAreLeft(t *testing.T) {
	b := newBench(t)
	b.kernel.held = true
	out := b.On(t.Context())
	if len(out.notes) != 2 || b.Left() || len(b.written) > 0 {
		t.Errorf("notes %q, left %v, written %q", out.notes, b.Left(), b.written)
	}
}

// After a kill, restore puts everything back by the undo log alone, also where an interface is gone.
func TestRestoreAfterAKill(t *testing.T) {
	b := newBench(t)
	clean(t, b.On(t.Context()))
	log := b.journal.UndoLog(b.journal.Begin().Run)
	b.kernel.pull("va")
	if err := b.journal.Close(); err != nil { // with changes outstanding, it stays
		t.Fatal(err)
	}
	undo := func() ([]string, error) {
		return restore.Restore(t.Context(), restore.Restoration{
			Log: log, Catalog: Defaults().catalog(),
			Open: func(context.Context, study.Use, uint64) (platform.Platform, error) { return b.kernel, nil },
		})
	}
	said, err := undo()
	if err != nil {
		t.Fatal(err)
	}
	b.mustBe(t, map[string]string{"vb": "20000 1"})
	for _, want := range []string{
		`host.napi_deferral:vb put back from "100" to "1"`, `host.gro_flush_timeout:vb put back from "200µs" to "20µs"`,
		"host.gro_flush_timeout:va ended with its network interface", "host.napi_deferral:va ended with its network interface",
	} {
		if !slices.Contains(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	}
	if left, err := journal.ListUnfinished(b.logs); err != nil || len(left) > 0 {
		t.Errorf("unfinished %+v, %v", left, err)
	}
}

// Interfaces of another network namespace have the same names and are others.
func TestRestoreInAnotherNetworkIsRefused(t *testing.T) {
	b := newBench(t)
	logs := filepath.Join(t.TempDir(), "undo")
	j, err := journal.Alone(&journal.Begin{Run: journal.NewRun(), Dir: "/tuner", Platform: study.Use{Kind: "local"}, Network: "network namespace 0"}, logs, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	b.batcher.journal = j
	clean(t, b.On(t.Context()))
	log := j.UndoLog(j.Begin().Run)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = restore.Restore(t.Context(), restore.Restoration{
		Log: log, Catalog: Defaults().catalog(),
		Open: func(context.Context, study.Use, uint64) (platform.Platform, error) { return b.kernel, nil },
	})
	if err == nil || !strings.Contains(err.Error(), "run plimsoll restore there") {
		t.Errorf("error %v", err)
	}
	b.mustBe(t, map[string]string{"va": batched})
}
