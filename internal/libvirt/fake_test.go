package libvirt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
)

// fake is a daemon that answers as it is told: to a procedure with a body or an error.
type fake struct {
	conn    net.Conn
	answers map[int32]func(m message) message
	pongs   chan struct{}
	streams chan message
}

func reply(m message, status uint32, body []byte) message {
	return message{header{m.program, m.version, m.procedure, kindReply, m.serial, status}, body}
}

func body(write func(e *encoder)) func(m message) message {
	e := encoder{}
	write(&e)
	return func(m message) message { return reply(m, statusDone, e.b) }
}

func refusal(code int32, text string) func(m message) message {
	return func(m message) message {
		e := encoder{}
		e.int32(code)
		e.int32(10)
		e.optional(text)
		e.int32(2)
		return reply(m, statusError, e.b)
	}
}

func newFake(t *testing.T, answers map[int32]func(m message) message) (*fake, net.Conn) {
	t.Helper()
	theirs, ours := net.Pipe()
	f := &fake{theirs, map[int32]func(message) message{
		procAuthList: body(func(e *encoder) { e.uint32(0) }),
		procOpen:     body(func(*encoder) {}),
	}, make(chan struct{}, 1), make(chan message, 8)}
	for p, a := range answers {
		f.answers[p] = a
	}
	go f.serve()
	t.Cleanup(func() { _ = theirs.Close() })
	return f, ours
}

func (f *fake) serve() {
	for {
		m, err := readMessage(f.conn)
		if err != nil {
			return
		}
		switch {
		case m.program == programKeepalive:
			f.pongs <- struct{}{}
		case m.kind == kindStream:
			f.streams <- m
		case f.answers[m.procedure] != nil:
			f.send(f.answers[m.procedure](m))
		}
	}
}

func (f *fake) send(m message) { _, _ = f.conn.Write(m.encode()) }

func opened(t *testing.T, answers map[int32]func(m message) message) (*fake, *Conn) {
	t.Helper()
	f, conn := newFake(t, answers)
	c, err := open(t.Context(), conn, driver{uri: "qemu:///system"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return f, c
}

func TestWaysIn(t *testing.T) {
	for name, tc := range map[string]struct {
		answers map[int32]func(m message) message
		says    string // empty where it opens
	}{
		"trusted":        {map[int32]func(message) message{}, ""},
		"none":           {map[int32]func(message) message{procAuthList: body(func(e *encoder) { e.uint32(1); e.uint32(authNone) })}, ""},
		"a password":     {map[int32]func(message) message{procAuthList: body(func(e *encoder) { e.uint32(1); e.uint32(1) })}, "password"},
		"polkit":         {map[int32]func(message) message{procAuthList: body(func(e *encoder) { e.uint32(1); e.uint32(authPolkit) }), procAuthPolkit: refusal(45, "denied")}, "group libvirt"},
		"no such driver": {map[int32]func(message) message{procOpen: refusal(5, "no connection driver")}, "no connection driver"},
		"nonsense":       {map[int32]func(message) message{procAuthList: body(func(e *encoder) { e.uint32(1 << 30) })}, "malformed response"},
	} {
		_, conn := newFake(t, tc.answers)
		c, err := open(t.Context(), conn, driver{uri: "qemu:///system"})
		if tc.says == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			_ = c.Close()
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v; want %q in it", name, err, tc.says)
		}
	}
}

func TestCallsEnd(t *testing.T) {
	f, c := opened(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := c.LibraryVersion(ctx); !errors.Is(err, cause) {
		t.Errorf("a call that nobody wants any more: %v", err)
	}
	f.send(message{header{programKeepalive, programVersion, keepalivePing, kindEvent, 0, 0}, nil})
	<-f.pongs
	asked := make(chan error)
	go func() {
		_, err := c.LibraryVersion(t.Context())
		asked <- err
	}()
	_ = f.conn.Close()
	if err := <-asked; err == nil {
		t.Error("a call got an answer from a daemon that is gone")
	}
	if _, err := c.LibraryVersion(t.Context()); err == nil {
		t.Error("a call over a connection that is gone")
	}
	select {
	case <-c.Done():
	case <-time.After(10 * time.Second):
		t.Error("the connection has not ended")
	}
}

func TestAStreamIsBytes(t *testing.T) {
	f, c := opened(t, map[int32]func(message) message{procOpenChannel: body(func(*encoder) {})})
	s, err := c.OpenChannel(t.Context(), Domain{Name: "web"}, "plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	part := func(status uint32, text string) {
		f.send(message{header{programRemote, programVersion, procOpenChannel, kindStream, s.serial, status}, []byte(text)})
	}
	big := bytes.Repeat([]byte("x"), longestPart+10)
	written := make(chan error)
	go func() {
		_, err := s.Write(big)
		written <- err
	}()
	var got []byte
	for len(got) < len(big) {
		m := <-f.streams
		if len(m.body)+headerSize > longestPart || m.status != statusMore {
			t.Fatalf("a part of %d bytes with status %d", len(m.body), m.status)
		}
		got = append(got, m.body...)
	}
	if err := <-written; err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes of %d, %v", len(got), len(big), err)
	}
	go func() {
		part(statusMore, "hello ")
		part(statusMore, "lab")
		part(statusDone, "")
	}()
	text, err := io.ReadAll(s)
	if err != nil || string(text) != "hello lab" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := s.Write([]byte("late")); err == nil {
		t.Error("a stream that has ended takes more")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestARefusedStreamSaysWhy(t *testing.T) {
	f, c := opened(t, map[int32]func(message) message{procOpenChannel: body(func(*encoder) {})})
	s, err := c.OpenChannel(t.Context(), Domain{Name: "web"}, "plimsoll")
	if err != nil {
		t.Fatal(err)
	}
	m := refusal(38, "broken pipe")(message{header: header{programRemote, programVersion, procOpenChannel, kindCall, s.serial, 0}})
	m.kind = kindStream
	go f.send(m)
	if _, err := s.Read(make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "broken pipe") {
		t.Errorf("%v", err)
	}
}

func TestURIs(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for _, tc := range []struct{ text, driver, socket string }{
		{"qemu:///system", "qemu:///system", "/run/libvirt/libvirt-sock"},
		{"qemu+unix:///system?socket=/a/b", "qemu:///system", "/a/b"},
		{"test:///default", "test:///default", "/run/libvirt/libvirt-sock"},
		{"qemu:///session", "qemu:///session", "libvirt/libvirt-sock"},
		{"qemu+ssh://host/system", "", "ssh -L"},
		{"qemu://host/system", "", "ssh -L"},
		{"qemu+unix:///system?mode=legacy", "", "supported parameter is socket"},
		{"nothing", "", "not a libvirt connection URI"},
	} {
		u, err := parseURI(tc.text)
		if tc.driver == "" {
			if err == nil || !strings.Contains(err.Error(), tc.socket) {
				t.Errorf("%s: %+v, %v; want %q", tc.text, u, err, tc.socket)
			}
			continue
		}
		if err != nil || u.Driver != tc.driver || !strings.HasSuffix(u.Socket, tc.socket) && !strings.HasSuffix(u.Socket, "virtqemud-sock") {
			t.Errorf("%s: %+v, %v", tc.text, u, err)
		}
	}
}

func TestEventsAreHeard(t *testing.T) {
	f, c := opened(t, map[int32]func(message) message{procRegisterAny: body(func(e *encoder) { e.int32(0) })})
	got := make(chan Lifecycle, 1)
	if err := (Host{c}).Listen(t.Context(), func(l Lifecycle) { got <- l }); err != nil {
		t.Fatal(err)
	}
	e := encoder{}
	e.int32(0)
	Domain{Name: "web", ID: 7}.encode(&e)
	e.int32(int32(Stopped))
	e.int32(3)
	f.send(message{header{programRemote, programVersion, procLifecycle, kindEvent, 0, 0}, e.b})
	if l := <-got; l.Domain.Name != "web" || !l.Migrated() || l.Why() != "migrated" {
		t.Errorf("heard %+v", l)
	}
	f.send(message{header{programRemote, programVersion, procLifecycle, kindEvent, 0, 0}, e.b[:8]})
	<-c.Done()
	if _, err := c.LibraryVersion(t.Context()); err == nil || !strings.Contains(err.Error(), "event: malformed") {
		t.Errorf("after a truncated event: %v", err)
	}
}

func TestPrivileges(t *testing.T) {
	for code, want := range map[int32]bool{NoDomain: true, ReadOnly: false, Denied: false, NoSupport: true} {
		_, c := opened(t, map[int32]func(message) message{procAbortJob: refusal(code, "no")})
		if may, err := (Host{c}).MayWrite(t.Context()); err != nil || may != want {
			t.Errorf("error %d: may write %v, %v", code, may, err)
		}
	}
	_, c := opened(t, map[int32]func(message) message{procAbortJob: refusal(ReadOnly, "operation forbidden")})
	if err := (Host{c}).AbortJob(t.Context(), Domain{Name: "web"}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v is no missing privilege", err)
	}
}

func TestTheHostIsDescribed(t *testing.T) {
	node := func(kib uint32, cores int32) func(message) message {
		return body(func(e *encoder) {
			e.fixed(make([]byte, 4*modelLength))
			e.uint64(uint64(kib))
			for _, n := range []int32{8, 2400, 1, 2, cores, 2} {
				e.int32(n)
			}
		})
	}
	name := body(func(e *encoder) { e.string("alpha") })
	_, c := opened(t, map[int32]func(message) message{procNodeInfo: node(1<<20, 2), procHostname: name})
	want := Node{"alpha", 1 << 30, 2400, 1, 2, 2, 2}
	if n, err := (Host{c}).Node(t.Context()); err != nil || n != want {
		t.Errorf("%+v, %v; want %+v", n, err, want)
	}
	_, c = opened(t, map[int32]func(message) message{procNodeInfo: node(1<<20, -2), procHostname: name})
	if n, err := (Host{c}).Node(t.Context()); err == nil {
		t.Errorf("a host with %+v", n)
	}
	more, err := decodeCapabilities(`<capabilities><host><uuid>8d0a</uuid><topology><cells num='1'><cell id='0'><memory unit='KiB'>1024</memory><cpus num='1'><cpu id='0' socket_id='0' core_id='3' siblings='0-1'/></cpus></cell></cells></topology><cache><bank id='0' level='3' type='both' size='32' unit='MiB' cpus='0-2,5'/></cache></host></capabilities>`)
	if err != nil || more.UUID != "8d0a" || !reflect.DeepEqual(more.Cells, []Cell{{1 << 20, []CellCPU{{0, 0, 3, "0-1"}}}}) || len(more.Banks) != 1 || more.Banks[0].Level != 3 || !maps.Equal(more.Banks[0].Processors(), map[int]bool{0: true, 1: true, 2: true, 5: true}) {
		t.Errorf("%+v, %v", more, err)
	}
	for _, list := range []string{"", "x", "1-", "3-1", "-1", "0-65536", "0-65535,0", "0,,1"} {
		if got := (Bank{CPUs: list}).Processors(); len(got) > 0 {
			t.Errorf("%q are the processors %v", list, got)
		}
	}
}
