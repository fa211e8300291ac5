package mysql

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/wire"
)

// said is a packet of a server.
func said(number byte, body string) []byte { return packed(nil, number, []byte(body)) }

// hello is what MariaDB 10.11 sends first.
const hello = "\n10.11.19-MariaDB\x00\x07\x00\x00\x00abcdefgh\x00\xfe\xf7\x2d\x02\x00\xff\x81\x15\x00\x00\x00\x00\x00\x00\x1d\x00\x00\x00ijklmnopqrst\x00mysql_native_password\x00"

const fine = "\x00\x00\x00\x02\x00\x00\x00"

func column(kind byte) string {
	return "\x03def\x00\x00\x00\x01c\x00\x0c\x2d\x00\x04\x00\x00\x00" + string([]byte{kind}) + "\x00\x00\x00\x00\x00"
}

func TestNext(t *testing.T) {
	whole := said(3, "SELECT")
	for cut := range whole {
		if _, used, err := next(whole[:cut]); used != 0 || err != nil {
			t.Errorf("of %d bytes %d are used, %v", cut, used, err)
		}
	}
	p, used, err := next(append(whole, 'Z'))
	if err != nil || used != len(whole) || p.Number != 3 || string(p.Body) != "SELECT" {
		t.Errorf("got %+v, %d, %v", p, used, err)
	}
	if _, _, err := next([]byte{0xff, 0xff, 0xff, 0}); err == nil {
		t.Error("a packet of 16 MiB is read")
	}
	for _, junk := range []string{"HTTP/1.1 400", "-ERR unknown", "E\x00\x00\x00\x09", "\x10\x00\x00\x02", "\x10\x00\x00\x00\x09"} {
		if err := strange([]byte(junk)); err == nil || !strings.Contains(err.Error(), "does not speak") {
			t.Errorf("%q gives %v", junk, err)
		}
	}
	for cut := range said(0, hello) {
		if err := strange(said(0, hello)[:cut]); err != nil {
			t.Errorf("of %d bytes: %v", cut, err)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, n := range []int{0, 250, 251, 1<<16 - 1, 1 << 16, 1<<24 - 1} {
		b := appendNumber(nil, n)
		if got, used := number(b); got != uint64(n) || used != len(b) {
			t.Errorf("%d is read as %d of %d bytes", n, got, used)
		}
		if _, used := number(b[:len(b)-1]); len(b) > 1 && used != 0 {
			t.Errorf("%d is read from a part", n)
		}
	}
}

// A server knows only the digest of the digest of a password, and finds the digest in
// the proof.
func TestProofs(t *testing.T) {
	salt := []byte("abcdefghijklmnopqrst")
	once := sha1.Sum([]byte("hush"))
	stored := sha1.Sum(once[:])
	mask := sha1.Sum(append(bytes.Clone(salt), stored[:]...))
	if found := sha1.Sum(xor(proof(native, "hush", salt), mask[:])); found != stored {
		t.Errorf("%s: the server finds %x", native, found)
	}
	once2 := sha256.Sum256([]byte("hush"))
	stored2 := sha256.Sum256(once2[:])
	mask2 := sha256.Sum256(append(bytes.Clone(stored2[:]), salt...))
	if found := sha256.Sum256(xor(proof(caching, "hush", salt), mask2[:])); found != stored2 {
		t.Errorf("%s: the server finds %x", caching, found)
	}
	if got := proof(native, "", salt); got == nil || len(got) != 0 {
		t.Errorf("no password gives %q", got)
	}
	if proof("client_ed25519", "hush", salt) != nil {
		t.Error("a way is known that is not")
	}
}

func TestLogin(t *testing.T) {
	l := newLogin(wire.Account{User: "bench", Database: "d", Password: "hush"})
	b, done, err := l.Hear(nil, Packet{0, []byte(hello)})
	if err != nil || done || l.Version() != "10.11.19-MariaDB" {
		t.Fatal(done, err, l.Version())
	}
	p, used, err := next(b)
	if err != nil || used != len(b) || p.Number != 1 || !strings.HasPrefix(string(p.Body[32:]), "bench\x00\x14") || !strings.HasSuffix(string(b), "d\x00mysql_native_password\x00") {
		t.Errorf("got %q, %v", b, err)
	}
	if p.Body[0]&canMySQL != 0 || p.Body[28]&canCacheColumns == 0 {
		t.Errorf("its extensions are not asked for: %q", p.Body[:32])
	}
	if want := proof(native, "hush", []byte("abcdefghijklmnopqrst")); !bytes.Contains(b, want) {
		t.Errorf("there is no proof in %q", b)
	}
	if b, _, err = l.Hear(nil, Packet{2, []byte("\xfecaching_sha2_password\x00uvwxyzuvwxyzuvwxyzuv\x00")}); err != nil || len(b) != 4+32 || b[3] != 3 {
		t.Errorf("another way: %q, %v", b, err)
	}
	if b, _, err = l.Hear(nil, Packet{4, []byte{1, 3}}); err != nil || len(b) != 0 {
		t.Errorf("it is remembered: %q, %v", b, err)
	}
	if b, _, err = l.Hear(nil, Packet{4, []byte{1, 4}}); err != nil || string(b) != "\x01\x00\x00\x05\x02" {
		t.Errorf("it is not remembered: %q, %v", b, err)
	}
	if _, _, err = l.Hear(nil, Packet{6, []byte("\x01no key")}); err == nil {
		t.Error("what is no key is taken for one")
	}
	if _, _, err = l.Hear(nil, Packet{2, []byte("\xfeclient_ed25519\x00uvwxyz\x00")}); err == nil || !strings.Contains(err.Error(), "identify bench by") {
		t.Errorf("a way that is not known: %v", err)
	}
	if _, done, err = l.Hear(nil, Packet{2, []byte(fine)}); err != nil || !done {
		t.Error(done, err)
	}
	for what, body := range map[string]string{"is not supported": strings.Replace(hello, "\xff\x81", "\xff\x80", 1), "truncated": hello[:40], "does not speak": "\x09x", "denied": "\xff\x15\x04#28000denied"} {
		if _, _, err := newLogin(wire.Account{}).Hear(nil, Packet{0, []byte(body)}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRow(t *testing.T) {
	types := []byte{typeLong, 253, 246, 3, typeLongLong, typeTiny, typeShort, 246}
	body := "\x00\x20\x00\xf4\xff\xff\xff\x03red\x06-12.05\x07\x00\x00\x00\x00\x00\x00\x00\xff\x02\x01\x060.1234"
	r := readRow([]byte(body), types)
	for i, got := range []int64{r.Decimal(0), int64(len(r.Text(nil))), r.Decimal(2)} {
		if want := []int64{-12, 3, -1205}[i]; got != want {
			t.Errorf("value %d is %d, not %d", i, got, want)
		}
	}
	if r.Text(nil) != nil || r.Decimal(1) != 70 || r.Decimal(0) != -1 || r.Decimal(0) != 258 || r.Decimal(4) != 1234 || r.End() != nil {
		t.Errorf("%+v", r)
	}
	if r.Text(nil); r.End() == nil {
		t.Error("there is a value beyond the last")
	}
	for cut := range body {
		if r := readRow([]byte(body[:cut]), types); r.Decimal(0) == 0 && r.End() == nil {
			t.Errorf("%d bytes are a row", cut)
		}
	}
}

// begun is a session whose statements are prepared: one with rows, one without.
func begun(t testing.TB) *Session {
	t.Helper()
	s := NewSession(wire.Account{User: "u"}, "SET x", []*Statement{NewStatement("SELECT c, d FROM t WHERE i = ? AND s = ?", AsInt, AsText), NewStatement("DELETE FROM t")})
	hear := func(bodies ...string) []byte {
		for i, body := range bodies {
			event, _, err := s.Hear(Packet{byte(i), []byte(body)})
			if err != nil || event != Nothing {
				t.Fatalf("%q: %v, %v", body, event, err)
			}
		}
		return s.AppendNext(nil)
	}
	if b := hear(hello); !bytes.Contains(b, []byte("u\x00")) {
		t.Fatalf("it begins with %q", b)
	}
	if b := hear(fine); !bytes.Contains(b, []byte("\x03SET x")) {
		t.Fatalf("it says %q", b)
	}
	if b := hear(fine); bytes.Count(b, []byte("\x16")) != 2 {
		t.Fatalf("it prepares %q", b)
	}
	hear("\x00\x09\x00\x00\x00\x02\x00\x02\x00\x00\x00\x00", column(3), column(253), column(3), column(253), "\x00\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	if !s.Serving() {
		t.Fatal("it does not serve")
	}
	return s
}

func TestSession(t *testing.T) {
	s := begun(t)
	b, place := s.AppendBind(nil, 0)
	b = AppendExecute(AppendText(AppendInt(b, 7), "red"), place)
	if want := "\x1b\x00\x00\x00\x17\x09\x00\x00\x00\x00\x01\x00\x00\x00\x00\x01\x03\x00\xfd\x00"[4:] + "\x07\x00\x00\x00\x03red"; string(b[4:]) != want || int(b[0]) != len(want) {
		t.Errorf("got  %q\nwant %q", b[4:], want)
	}
	b, place = s.AppendBind(nil, 1)
	if b = AppendExecute(b, place); string(b) != "\x0a\x00\x00\x00\x17\x0a\x00\x00\x00\x00\x01\x00\x00\x00" {
		t.Errorf("got %q", b)
	}
	s.AppendQuery(nil, "COMMIT")
	if s.Pending() != 3 {
		t.Errorf("%d are pending", s.Pending())
	}
	row := "\x00\x00\x07\x00\x00\x00\x03red"
	for i, c := range []struct {
		body string
		want Event
	}{
		{"\x02\x00", Nothing}, {row, ARow}, {row, ARow}, {"\xfe\x00\x00\x03\x00\x00\x00", Done}, // its columns are known
		{"\xff\xbd\x04#40001Deadlock found", Failed},
		{fine, Done},
	} {
		event, r, err := s.Hear(Packet{byte(i), []byte(c.body)})
		if err != nil || event != c.want {
			t.Fatalf("%q: %v, %v", c.body, event, err)
		}
		if event == ARow && (r.Decimal(0) != 7 || string(r.Text(nil)) != "red" || r.End() != nil) {
			t.Errorf("%+v", r)
		}
		if i == 3 && !s.Status().InTransaction() || i == 5 && s.Status().InTransaction() {
			t.Errorf("after %d the status is %d", i, s.Status())
		}
	}
	if _, _, err := s.Hear(Packet{0, []byte(fine)}); s.Pending() != 0 || err == nil {
		t.Errorf("an answer that nobody asked for: %v", err)
	}
	f := ReadFault([]byte("\xff\xbd\x04#40001Deadlock found"))
	if !f.Transient() || f.Fatal() || f.Error() != "Deadlock found (1213)" {
		t.Errorf("%+v", f)
	}
}

// Columns that are told anew are those that count.
func TestColumnsThatChange(t *testing.T) {
	s := begun(t)
	s.AppendBind(nil, 0)
	for _, body := range []string{"\x01\x01", column(typeLongLong)} {
		if _, _, err := s.Hear(Packet{0, []byte(body)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, r, err := s.Hear(Packet{0, []byte("\x00\x00\x01\x01\x00\x00\x00\x00\x00\x00")}); err != nil || r.Decimal(0) != 257 || r.End() != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestStatementsAllocateNothing(t *testing.T) {
	s := begun(t)
	b := make([]byte, 0, 1024)
	head, row, end := Packet{1, []byte("\x02\x00")}, Packet{2, []byte("\x00\x00\x07\x00\x00\x00\x03red")}, Packet{3, []byte("\xfe\x00\x00\x02\x00\x00\x00")}
	sum := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		b, place := s.AppendBind(b[:0], 0)
		AppendExecute(AppendText(AppendInt(b, 7), "red"), place)
		_, _, _ = s.Hear(head)
		_, r, _ := s.Hear(row)
		sum += r.Decimal(0)
		_, _, _ = s.Hear(end)
	}); n != 0 || sum < 700 || s.Pending() != 0 {
		t.Errorf("%g allocations, %d", n, sum)
	}
}

// saying is a server that says each part in turn, and hears something after each.
func saying(t *testing.T, parts ...[]byte) (net.Conn, <-chan string) {
	client, server := net.Pipe()
	heard := make(chan string, 100)
	go func() {
		defer server.Close()
		for _, part := range parts {
			if _, err := server.Write(part); err != nil {
				return
			}
			b := make([]byte, 1<<20)
			n, err := server.Read(b)
			if err != nil {
				return
			}
			heard <- string(b[:n])
		}
		_, _ = io.Copy(io.Discard, server)
	}()
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, heard
}

func TestConversation(t *testing.T) {
	rows := bytes.Join([][]byte{said(1, "\x02\x01"), said(2, column(3)), said(3, column(253)), said(4, "\x011\xfb"), said(5, "\xfe\x00\x00\x0a\x00\x00\x00"), said(6, fine)}, nil)
	conn, heard := saying(t, said(0, hello), said(2, fine), rows, said(1, "\xff\x7a\x04#42S02no such table"), said(1, "\xfbplimsoll"), said(4, fine))
	c, err := open(t.Context(), conn, wire.Account{User: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Query(t.Context(), "SELECT")
	if err != nil || len(got) != 1 || len(got[0]) != 2 || got[0][0] != "1" || got[0][1] != "" {
		t.Errorf("got %q, %v", got, err)
	}
	var f *Fault
	if err = c.Exec(t.Context(), "SELECT"); !errors.As(err, &f) || f.Code != NoSuchTable || f.State != "42S02" {
		t.Errorf("got %v", err)
	}
	_, _, _ = <-heard, <-heard, <-heard
	i := 0
	if err := c.Fill(t.Context(), "t", "(a)", func(b []byte) ([]byte, bool) {
		i++
		return append(b, "red\n"...), i < 2
	}); err != nil {
		t.Errorf("got %v", err)
	}
	if q, rows := <-heard, <-heard; !strings.Contains(q, "INTO TABLE t") || rows != "\x08\x00\x00\x02red\nred\n\x00\x00\x00\x03" {
		t.Errorf("%q, then %q", q, rows)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("no more time"))
	defer cancel()
	for range 2 {
		if _, err = c.Query(ctx, "SELECT"); err == nil || !strings.Contains(err.Error(), "no more time") {
			t.Errorf("a server that is silent: %v", err)
		}
	}
	c.Close()
}

// A server may ask for any file of the client's. It gets none.
func TestFilesAreNotGiven(t *testing.T) {
	conn, _ := saying(t, said(0, hello), said(2, fine), said(1, "\xfb/etc/passwd"), nil)
	c, err := open(t.Context(), conn, wire.Account{User: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), "SELECT 1"); err == nil || !strings.Contains(err.Error(), "LOCAL INFILE") {
		t.Errorf("got %v", err)
	}
}

func TestOpenToldNo(t *testing.T) {
	conn, _ := saying(t, said(0, "\xff\x10\x04Too many connections"))
	_, err := open(t.Context(), conn, wire.Account{User: "bench"})
	var f *Fault
	if !errors.As(err, &f) || f.Code != TooManyConnections || !f.Fatal() {
		t.Errorf("got %v", err)
	}
	conn, _ = saying(t, []byte("HTTP/1.1 400 Bad Request\r\n"))
	if _, err := open(t.Context(), conn, wire.Account{}); err == nil || !strings.Contains(err.Error(), "does not speak") {
		t.Errorf("got %v", err)
	}
	conn, _ = saying(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := open(ctx, conn, wire.Account{}); err == nil || !strings.Contains(err.Error(), "no handshake packet") {
		t.Errorf("got %v", err)
	}
}

// Whatever a server sends, nothing panics and no value is longer than its row.
func FuzzSession(f *testing.F) {
	f.Add(bytes.Join([][]byte{said(0, hello), said(2, fine), said(1, fine), said(1, "\x00\x09\x00\x00\x00\x02\x00\x02\x00\x00\x00\x00")}, nil), false)
	f.Add(bytes.Join([][]byte{said(1, "\x01\x01"), said(2, column(8)), said(3, "\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00"), said(4, "\xfe\x00\x00\x02\x00\x00\x00"), said(1, "\xff\xbd\x04#40001x")}, nil), true)
	f.Fuzz(func(t *testing.T, data []byte, already bool) {
		s := NewSession(wire.Account{User: "u", Password: "p"}, "SET x", []*Statement{NewStatement("SELECT ?", AsInt)})
		if already {
			s = begun(t)
			for n := range 2 {
				s.AppendBind(nil, n)
			}
			s.AppendQuery(nil, "COMMIT")
		}
		for {
			p, used, err := s.Next(data)
			if used < 0 || used > len(data) || err != nil && used != 0 {
				t.Fatalf("%d of %d bytes are used, %v", used, len(data), err)
			}
			if used == 0 {
				return
			}
			event, r, err := s.Hear(p)
			if err != nil {
				return
			}
			for event == ARow && r.More() {
				copied := r
				copied.Decimal(2)
				if v := r.Text(nil); len(v) > max(20, len(p.Body)) {
					t.Fatal("a value is longer than its row")
				}
			}
			if event == Failed {
				_ = ReadFault(p.Body).Error()
			}
			s.AppendNext(nil)
			data = data[used:]
		}
	})
}

// What a server says stays on one line and steers no terminal.
func TestFaultIsOneLine(t *testing.T) {
	if got, want := (&Fault{Code: 1146, Message: "no\nplimsoll: done\x1b[2J"}).Error(), `no\nplimsoll: done\u001b[2J (1146)`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
