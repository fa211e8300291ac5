package libvirt_test

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/effort"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/libvirt/libvirttest"
)

// The numbers of calls: one has the destination run a domain, and one has the source forget it.
const (
	finish  = 306
	confirm = 307
)

// link is between a client and a daemon. It breaks at a call.
type link struct {
	at       uint32
	listener net.Listener
	to       string
	pass     bool // the call reaches the daemon first
	shut     bool // nobody connects again
	once     sync.Once
}

// newLink is on the way to a daemon; the URI is that by which a client takes it.
func newLink(t *testing.T, uri string, l *link) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	l.to = u.Query().Get("socket")
	own := filepath.Join(filepath.Dir(l.to), "link"+rand.Text()[:6])
	if l.listener, err = net.Listen("unix", own); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.listener.Close() })
	go l.serve()
	return strings.Replace(uri, l.to, own, 1)
}

func (l *link) serve() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		daemon, err := net.Dial("unix", l.to)
		if err != nil {
			_ = client.Close()
			return
		}
		go func() {
			_, _ = io.Copy(client, daemon) // until it breaks
			_ = client.Close()
		}()
		go l.calls(client, daemon)
	}
}

// calls forwards what a client calls.
func (l *link) calls(client, daemon net.Conn) {
	defer daemon.Close()
	defer client.Close()
	for {
		var head [16]byte // length, program, version, procedure
		if _, err := io.ReadFull(client, head[:]); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(head[:])-uint32(len(head)))
		if _, err := io.ReadFull(client, rest); err != nil {
			return
		}
		breaks := false
		if binary.BigEndian.Uint32(head[12:]) == l.at {
			l.once.Do(func() { breaks = true })
		}
		if breaks && l.shut {
			_ = l.listener.Close()
		}
		if !breaks || l.pass {
			if _, err := daemon.Write(append(head[:], rest...)); err != nil {
				return
			}
		}
		if breaks {
			return
		}
	}
}

// losesTheAnswer: when the answer is lost whether a domain runs on the destination, it never runs
// on both hosts.
func losesTheAnswer(t *testing.T, p pair) {
	for name, tc := range map[string]struct {
		link                 *link
		source, target, fine bool
	}{
		"the call does not arrive":       {&link{at: finish}, true, false, false},
		"the daemon has carried it out":  {&link{at: finish, pass: true}, false, true, true},
		"nobody can ask the daemon then": {&link{at: finish, pass: true, shut: true}, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.link.shut {
				effort.Deep(t, "wait for half a minute for a daemon")
			}
			to := newLinkedHost(t, p.uris[1], tc.link)
			text := libvirttest.Burner{Name: "only" + strings.ReplaceAll(name, " ", "-"), Load: 10}.Domain(t, p.folder)
			d, err := p.from.Conn.CreateXML(t.Context(), text, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.from.Migrate(t.Context(), to, libvirt.Migration{Domain: d, URI: "tcp://127.0.0.1"})
			t.Logf("it ends with: %v", err)
			if (err == nil) != tc.fine || tc.link.shut && !strings.Contains(err.Error(), "left paused") {
				t.Errorf("%v", err)
			}
			eventually(t, "it runs on one host", func() bool {
				return runs(t, p.from, d.Name) == tc.source && runs(t, p.to, d.Name) == tc.target
			})
		})
	}
}

// losesTheSource: what the source was not told to forget is removed from it, when its daemon answers again.
func losesTheSource(t *testing.T, p pair) {
	for _, pass := range []bool{false, true} {
		from := newLinkedHost(t, p.uris[0], &link{at: confirm, pass: pass})
		d, err := p.from.Conn.DefineXML(t.Context(), libvirttest.Burner{Name: "left", Load: 10}.Domain(t, p.folder), 0)
		if err == nil {
			err = p.from.Start(t.Context(), d)
		}
		if err != nil {
			t.Fatal(err)
		}
		moved, err := from.Migrate(t.Context(), p.to, libvirt.Migration{Domain: d, URI: "tcp://127.0.0.1"})
		if err != nil || !runs(t, p.to, "left") {
			t.Errorf("it ends with %v, and runs on the destination: %t", err, runs(t, p.to, "left"))
		}
		if _, err := p.from.LookupUUID(t.Context(), d.UUID); !libvirt.Missing(err) {
			t.Errorf("on the source: %v", err)
		}
		if s, err := p.to.StateAgain(t.Context(), moved); err != nil || s != libvirt.Running {
			t.Errorf("%v, %v", s, err)
		}
		if err := errors.Join(p.to.Conn.Destroy(t.Context(), moved), p.to.Conn.Undefine(t.Context(), moved)); err != nil {
			t.Error(err)
		}
	}
}

func newLinkedHost(t *testing.T, uri string, l *link) (h libvirt.Host) {
	t.Helper()
	var err error
	if h.Conn, err = libvirt.Dial(t.Context(), newLink(t, uri, l)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Conn.Close() })
	return h
}

// staysPaused: a domain that somebody has paused is paused on the destination.
func staysPaused(t *testing.T, p pair) {
	const paused = 1 // of CreateXML
	d, err := p.from.Conn.CreateXML(t.Context(), libvirttest.Burner{Name: "paused", Load: 10}.Domain(t, p.folder), paused)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := p.from.Migrate(t.Context(), p.to, libvirt.Migration{Domain: d, URI: "tcp://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.to.Conn.State(t.Context(), moved); err != nil || s != libvirt.Paused {
		t.Errorf("it was paused, and is %v, %v", s, err)
	}
	if _, err := p.from.LookupUUID(t.Context(), d.UUID); !libvirt.Missing(err) {
		t.Errorf("on the source: %v", err)
	}
	if err := p.to.Conn.Destroy(t.Context(), moved); err != nil {
		t.Error(err)
	}
}

// staysAsleep: the definition of a domain does not move without its saved memory.
func staysAsleep(t *testing.T, p pair) {
	d, err := p.from.Conn.DefineXML(t.Context(), libvirttest.Burner{Name: "asleep", Load: 10}.Domain(t, p.folder), 0)
	if err != nil {
		t.Fatal(err)
	}
	i := libvirt.Instance{Conn: p.from.Conn, Domain: d}
	if err := errors.Join(i.Start(t.Context()), i.Save(t.Context())); err != nil {
		t.Fatal(err)
	}
	if all, err := p.from.Saved(t.Context()); err != nil || len(all) != 1 || all[0].UUID != d.UUID {
		t.Errorf("with saved memory there are %+v, %v", all, err)
	}
	if _, err := p.from.Migrate(t.Context(), p.to, libvirt.Migration{Domain: d}); err == nil || !strings.Contains(err.Error(), "managedsave-remove") {
		t.Errorf("its definition moves: %v", err)
	}
	if _, err := p.to.LookupUUID(t.Context(), d.UUID); !libvirt.Missing(err) {
		t.Errorf("on the destination: %v", err)
	}
	if err := i.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if all, err := p.from.Saved(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("with saved memory there are %+v, %v", all, err)
	}
}
