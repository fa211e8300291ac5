package libvirt_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
)

// pair is two daemons that believe to be on hosts of their own.
type pair struct {
	from, to libvirt.Host
	folder   string
	uris     [2]string
}

func newPair(t *testing.T) pair {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start libvirt daemons")
	}
	guesttest.Turn(t) // first: a daemon that nobody uses ends after a minute
	all := libvirttest.Hosts(t, "alpha", "beta")
	p := pair{folder: all[0].Folder}
	for i, d := range all {
		p.uris[i] = d.URI("qemu", "/session")
	}
	for i, c := range []**libvirt.Conn{&p.from.Conn, &p.to.Conn} {
		var err error
		if *c, err = libvirt.Dial(t.Context(), p.uris[i]); err != nil {
			t.Fatal(err)
		}
		conn := *c
		t.Cleanup(func() {
			domains, _ := conn.Domains(context.Background())
			for _, d := range domains {
				_ = conn.Destroy(context.Background(), d) // it may be off
			}
			_ = conn.Close()
		})
	}
	return p
}

// runs says whether a connection's daemon runs a domain.
func runs(t *testing.T, c libvirt.Host, name string) bool {
	t.Helper()
	d, err := c.Conn.LookupName(t.Context(), name)
	if libvirt.Missing(err) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Conn.State(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return s.On()
}

// heard collects events.
type heard struct {
	mu  sync.Mutex
	all []libvirt.Lifecycle
}

func (h *heard) take(l libvirt.Lifecycle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, l)
}

func (h *heard) has(c libvirt.Change, why string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.all {
		if l.Change == c && l.Why() == why {
			return true
		}
	}
	return false
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func TestMigrations(t *testing.T) {
	p := newPair(t)
	for _, tc := range []struct {
		name string
		test func(t *testing.T, p pair)
	}{{"live", migratesLive}, {"cancelled", cancelsAMigration}, {"client dies", losesTheClient}, {"destination dies", losesTheDestination}, {"answer lost", losesTheAnswer}, {"source lost", losesTheSource}, {"paused", staysPaused}, {"saved", staysAsleep}, {"off", movesADefinition}, {"host", describesTheHost}} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, p) })
	}
}

// migratesLive: a persistent domain runs on the destination, is persistent there, and has left
// the source.
func migratesLive(t *testing.T, p pair) {
	ctx := t.Context()
	var source, target heard
	if err := errors.Join(p.from.Listen(ctx, source.take), p.to.Listen(ctx, target.take)); err != nil {
		t.Fatal(err)
	}
	d, err := p.from.Conn.DefineXML(ctx, libvirttest.Burner{Name: "web", Load: 20}.Domain(t, p.folder), 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := p.from.Conn.XML(ctx, d)
	if err == nil {
		d, err = p.from.Conn.CreateXML(ctx, text, 0) // which starts what is defined
	}
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the guest computes", func() bool {
		all, err := p.from.ActiveStatistics(ctx, libvirt.VCPUStatistics|libvirt.BalloonStatistics)
		return err == nil && all["web"]["vcpu.0.time"] > 1e8 && all["web"]["balloon.rss"] > 0
	})
	moved, err := p.from.Migrate(ctx, p.to, libvirt.Migration{Domain: d, URI: "tcp://127.0.0.1", AutoConverge: true})
	if err != nil {
		t.Fatal(err)
	}
	if moved.UUID != d.UUID || !runs(t, p.to, "web") {
		t.Errorf("moved %+v", moved)
	}
	if lasting, err := p.to.Persistent(ctx, moved); err != nil || !lasting {
		t.Errorf("persistent on the destination: %v, %v", lasting, err)
	}
	if _, err := p.from.LookupUUID(ctx, d.UUID); !libvirt.Missing(err) {
		t.Errorf("on the source: %v", err)
	}
	eventually(t, "events of both hosts", func() bool { return source.has(libvirt.Stopped, "migrated") && target.has(libvirt.Started, "migrated") })
	if err := p.to.Conn.Destroy(ctx, moved); err != nil {
		t.Error(err)
	}
	if err := p.to.Conn.Undefine(ctx, moved); err != nil {
		t.Error(err)
	}
}

// cancelsAMigration: a migration whose context ends leaves the domain running where it was, and
// nothing on the destination.
func cancelsAMigration(t *testing.T, p pair) {
	d, err := p.from.Conn.CreateXML(t.Context(), libvirttest.Burner{Name: "busy", Load: 50, Dirty: true}.Domain(t, p.folder), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	var last libvirt.Job
	_, err = p.from.Migrate(ctx, p.to, libvirt.Migration{Domain: d, URI: "tcp://127.0.0.1", Bandwidth: 1, Running: func(j libvirt.Job) {
		if last = j; j.Processed > 0 {
			cancel(enough)
		}
	}})
	cancel(nil)
	if !errors.Is(err, enough) || last.Total == 0 {
		t.Errorf("%v after %+v", err, last)
	}
	if !runs(t, p.from, "busy") || runs(t, p.to, "busy") {
		t.Error("the domain does not run where it was")
	}
	if _, err := p.from.Migrate(t.Context(), p.to, libvirt.Migration{Domain: d, URI: "tcp://192.0.2.300"}); err == nil || !runs(t, p.from, "busy") {
		t.Errorf("an address that is none: %v", err)
	}
	if err := p.from.Conn.Destroy(t.Context(), d); err != nil {
		t.Error(err)
	}
}

// stays starts a domain that migrates slowly, has something happen meanwhile, and wants it to stay.
func stays(t *testing.T, p pair, name string, happens func(from, to libvirt.Host)) {
	t.Helper()
	d, err := p.from.Conn.CreateXML(t.Context(), libvirttest.Burner{Name: name, Load: 50, Dirty: true}.Domain(t, p.folder), 0)
	if err != nil {
		t.Fatal(err)
	}
	var own [2]libvirt.Host
	for i := range own {
		if own[i].Conn, err = libvirt.Dial(t.Context(), p.uris[i]); err != nil {
			t.Fatal(err)
		}
		defer own[i].Conn.Close()
	}
	var once sync.Once
	_, err = own[0].Migrate(t.Context(), own[1], libvirt.Migration{Domain: d, URI: "tcp://127.0.0.1", Bandwidth: 1, Running: func(j libvirt.Job) {
		if j.Processed > 0 {
			once.Do(func() { happens(own[0], own[1]) })
		}
	}})
	if err == nil {
		t.Error("the migration succeeds")
	}
	t.Logf("the migration ends with: %v", err)
	eventually(t, "the domain runs where it was, and nothing is left of it on the destination", func() bool {
		_, err := p.to.LookupUUID(t.Context(), d.UUID)
		return libvirt.Missing(err) && runs(t, p.from, name)
	})
	if err := p.from.Conn.Destroy(t.Context(), d); err != nil {
		t.Error(err)
	}
}

// losesTheClient: the end of the program that drives a migration ends the migration.
func losesTheClient(t *testing.T, p pair) {
	stays(t, p, "orphan", func(from, to libvirt.Host) {
		go func() { _, _ = from.Conn.Close(), to.Conn.Close() }() // this is called by what waits for the end
	})
}

// losesTheDestination: the guest goes on where it was if the destination's hypervisor ends.
func losesTheDestination(t *testing.T, p pair) {
	stays(t, p, "survivor", func(libvirt.Host, libvirt.Host) {
		d, err := p.to.Conn.LookupName(t.Context(), "survivor")
		if err == nil {
			err = p.to.Conn.Destroy(t.Context(), d)
		}
		if err != nil {
			t.Errorf("the destination: %v", err)
		}
	})
}

// movesADefinition: of a domain that is off, the definition moves.
func movesADefinition(t *testing.T, p pair) {
	d, err := p.from.Conn.DefineXML(t.Context(), libvirttest.Burner{Name: "idle"}.Domain(t, p.folder), 0)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := p.from.Migrate(t.Context(), p.to, libvirt.Migration{Domain: d})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.to.Conn.State(t.Context(), moved); err != nil || s != libvirt.Off {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := p.from.LookupUUID(t.Context(), d.UUID); !libvirt.Missing(err) {
		t.Errorf("on the source: %v", err)
	}
	if err := p.to.Conn.Undefine(t.Context(), moved); err != nil {
		t.Error(err)
	}
}

func describesTheHost(t *testing.T, p pair) {
	n, err := p.to.Node(t.Context())
	if err != nil || n.Hostname != "beta" || n.Memory < 1<<28 || n.Cells*n.Sockets*n.Cores*n.Threads < 1 {
		t.Errorf("%+v, %v", n, err)
	}
	more, err := p.to.Capabilities(t.Context())
	if err != nil || len(more.Cells) == 0 || len(more.Cells[0].CPUs) == 0 || len(more.UUID) != 36 {
		t.Errorf("%+v, %v", more, err)
	}
	if may, err := p.to.MayWrite(t.Context()); err != nil || !may {
		t.Errorf("may write: %v, %v", may, err)
	}
	only, err := libvirt.DialReadOnly(t.Context(), p.uris[0])
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if may, err := (libvirt.Host{Conn: only}).MayWrite(t.Context()); err != nil || may {
		t.Errorf("may write read-only: %v, %v", may, err)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err == nil && strings.Contains(string(info), "MHz") && n.MHz == 0 {
		t.Error("no speed of the processor")
	}
}
