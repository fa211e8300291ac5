package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/wire"
)

// message is what a server would send.
func message(kind byte, body string) []byte {
	b, at := begin(nil, kind)
	return end(append(b, body...), at)
}

func TestNext(t *testing.T) {
	whole := message(CommandComplete, "SELECT 1\x00")
	for cut := range whole {
		if _, used, err := Next(whole[:cut]); used != 0 || err != nil {
			t.Errorf("of %d bytes %d are used, %v", cut, used, err)
		}
	}
	m, used, err := Next(append(whole, 'Z'))
	if err != nil || used != len(whole) || m.Kind != CommandComplete || string(m.Body) != "SELECT 1\x00" {
		t.Errorf("got %+v, %d, %v", m, used, err)
	}
	for _, junk := range []string{"HTTP/1.1 400", "-ERR unknown", "Z\x00\x00\x00\x03", "Z\xff\xff\xff\xff"} {
		if _, _, err := Next([]byte(junk)); err == nil || !strings.Contains(err.Error(), "does not speak") {
			t.Errorf("%q gives %v", junk, err)
		}
	}
}

// The example of RFC 7677, section 3.
func TestSCRAMOfTheRFC(t *testing.T) {
	s := newSCRAM("pencil", "rOprNGfwEbeRWgbNEkqO")
	s.user = "user"
	if got := s.first(); got != "n,,n=user,r=rOprNGfwEbeRWgbNEkqO" {
		t.Errorf("first: %s", got)
	}
	last, err := s.last("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
	if want := "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="; err != nil || last != want {
		t.Errorf("last: %s, %v", last, err)
	}
	if err := s.verify("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="); err != nil || !s.proven {
		t.Errorf("verify: %v", err)
	}
	for _, wrong := range []string{"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "e=invalid-proof", "", "v="} {
		if err := s.verify(wrong); err == nil {
			t.Errorf("%q is taken for a proof", wrong)
		}
	}
}

// A proof is bound to the channel where the server can, and where it says that it cannot the
// client says that it would.
func TestSCRAMOfAChannel(t *testing.T) {
	for _, c := range []struct{ offered, binding, by, first, last string }{
		{"SCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00", "cert", "SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=", "c=cD10bHMtc2VydmVyLWVuZC1wb2ludCwsY2VydA==,"},
		{"SCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00", "", "SCRAM-SHA-256", "n,,n=", "c=biws,"},
		{"SCRAM-SHA-256\x00\x00", "cert", "SCRAM-SHA-256", "y,,n=", "c=eSws,"},
	} {
		s := newSCRAM("pencil", "a")
		by := s.bind(c.offered, []byte(c.binding))
		last, err := s.last("r=ab,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1")
		if by != c.by || !strings.HasPrefix(s.first(), c.first) || err != nil || !strings.HasPrefix(last, c.last) {
			t.Errorf("%q over %q: %s, %s, %s, %v", c.offered, c.binding, by, s.first(), last, err)
		}
	}
}

func TestLoginNeedsAProofOfTheServer(t *testing.T) {
	l := newLogin(wire.Account{User: "u", Password: "p"})
	if _, _, err := l.Hear(nil, Message{Authentication, []byte("\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00")}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Hear(nil, Message{Authentication, []byte{0, 0, 0, 0}}); err == nil {
		t.Error("a server that proved nothing is believed")
	}
}

func TestLoginByMD5(t *testing.T) {
	l := newLogin(wire.Account{User: "bench", Password: "secret"})
	b, done, err := l.Hear(nil, Message{Authentication, append([]byte{0, 0, 0, 5}, "salt"...)})
	if err != nil || done {
		t.Fatal(done, err)
	}
	if want := "p\x00\x00\x00\x28md5"; !strings.HasPrefix(string(b), want) || len(b) != 41 || b[40] != 0 {
		t.Errorf("got %q", b)
	}
	for demand, want := range map[uint32]string{7: "unsupported authentication method", 5: "truncated"} {
		if _, _, err := l.Hear(nil, Message{Authentication, binary.BigEndian.AppendUint32(nil, demand)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d gives %v", demand, err)
		}
	}
	if _, _, err := newLogin(wire.Account{User: "bench"}).Hear(nil, Message{Authentication, []byte{0, 0, 0, 3}}); err == nil || !strings.Contains(err.Error(), "env:NAME") {
		t.Errorf("without a password: %v", err)
	}
}

func TestRow(t *testing.T) {
	b := binary.BigEndian.AppendUint16(nil, 4)
	b = AppendText(b, "-12")
	b = AppendDecimal(b, -1205)
	b = append(b, 0xff, 0xff, 0xff, 0xff)
	b = AppendText(b, "0.1234")
	r := ReadRow(b)
	if n := r.Decimal(0); n != -12 {
		t.Error(n)
	}
	if n := r.Decimal(2); n != -1205 {
		t.Error(n)
	}
	if v := r.Value(); v != nil || !r.More() {
		t.Error(v)
	}
	if n := r.Decimal(4); n != 1234 || r.End() != nil {
		t.Error(n, r.End())
	}
	if r.Value(); r.End() == nil {
		t.Error("there is a value beyond the last")
	}
	if got := string(wire.AppendHundredths(nil, -5)); got != "-0.05" {
		t.Error(got)
	}
}

// A statement is bound and executed without allocation.
func TestRequestsAllocateNothing(t *testing.T) {
	s := NewStatement("s", "SELECT $1, $2", AsBinary, AsText)
	b := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		b = b[:0]
		var place int
		b, place = s.AppendBind(b)
		b = AppendInt(b, 7)
		b = AppendDecimal(b, 1999)
		b = AppendSync(AppendExecute(b, place))
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
	if want := "B\x00\x00\x00\x22\x00s\x00\x00\x02\x00\x01\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x07\x00\x00\x00\x0519.99\x00\x00" +
		"E\x00\x00\x00\x09\x00\x00\x00\x00\x00S\x00\x00\x00\x04"; string(b) != want {
		t.Errorf("got  %q\nwant %q", b, want)
	}
}

// saying is a server that says the same whatever it hears, and what it heard.
func saying(t *testing.T, says []byte) (net.Conn, <-chan []byte) {
	client, server := net.Pipe()
	heard := make(chan []byte, 1)
	go func() {
		b := make([]byte, 1<<16)
		n, _ := server.Read(b)
		heard <- b[:n]
		go io.Copy(io.Discard, server)
		if _, _ = server.Write(says); len(says) == 0 {
			server.Close()
		}
	}()
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, heard
}

func TestOpenToldNo(t *testing.T) {
	fault := message(Failure, "SFATAL\x00VFATAL\x00C53300\x00Msorry, too many clients already\x00\x00")
	conn, heard := saying(t, fault)
	_, err := Open(t.Context(), conn, wire.Account{User: "bench", Database: "d"})
	var f *Fault
	if !errors.As(err, &f) || f.Code != TooManyConnections || !f.Fatal {
		t.Errorf("got %v", err)
	}
	if b := <-heard; !bytes.Contains(b, []byte("user\x00bench\x00database\x00d\x00")) {
		t.Errorf("it began with %q", b)
	}
	conn, _ = saying(t, []byte("HTTP/1.1 400 Bad Request\r\n"))
	if _, err := Open(t.Context(), conn, wire.Account{}); err == nil || !strings.Contains(err.Error(), "does not speak") {
		t.Errorf("got %v", err)
	}
	conn, _ = saying(t, nil)
	if _, err := Open(t.Context(), conn, wire.Account{}); err == nil || !strings.Contains(err.Error(), "closed the session") {
		t.Errorf("got %v", err)
	}
}

func TestConversation(t *testing.T) {
	row := binary.BigEndian.AppendUint16(nil, 2)
	row = append(AppendText(row, "1"), 0xff, 0xff, 0xff, 0xff)
	says := message(Authentication, "\x00\x00\x00\x00")
	says = append(says, message(ParameterStatus, "server_version\x0015.4\x00")...)
	says = append(says, message(Ready, "I")...)
	says = append(says, message(RowDescription, "")...)
	says = append(says, message(DataRow, string(row))...)
	says = append(says, message(Failure, "SERROR\x00C42P01\x00Mno such table\x00Hmake one\x00\x00")...)
	says = append(says, message(Ready, "I")...)
	conn, _ := saying(t, says)
	c, err := Open(t.Context(), conn, wire.Account{User: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.Query(t.Context(), "SELECT")
	if len(rows) != 1 || len(rows[0]) != 2 || rows[0][0] != "1" || err == nil || err.Error() != "no such table (42P01; make one)" {
		t.Errorf("got %v, %v", rows, err)
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

func TestTransient(t *testing.T) {
	for body, want := range map[string]bool{"C40001\x00Mx\x00\x00": true, "SERROR\x00C40P01\x00\x00": true, "C23505\x00\x00": false, "": false, "C40001": false} {
		if ReadFault([]byte(body)).Transient() != want {
			t.Errorf("%q", body)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add(message(DataRow, "\x00\x01\x00\x00\x00\x011"))
	f.Add(append(message(Failure, "C40001\x00Mx\x00\x00"), message(Ready, "I")...))
	f.Add(message(Authentication, "\x00\x00\x00\x0br=x,s=eA==,i=1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		login := newLogin(wire.Account{User: "u", Password: "p"})
		for len(data) > 0 {
			m, used, err := Next(data)
			if used < 0 || used > len(data) || err != nil && used != 0 {
				t.Fatalf("%d of %d bytes are used, %v", used, len(data), err)
			}
			if used == 0 {
				return
			}
			for r := ReadRow(m.Body); r.More(); {
				if v := r.Value(); len(v) > len(m.Body) {
					t.Fatal("a value is longer than its row")
				}
			}
			ReadFault(m.Body)
			if _, err := ReadyState(m.Body); err == nil && len(m.Body) != 1 {
				t.Fatal("a state of more than one letter")
			}
			if m.Kind == Authentication && !bytes.Contains(m.Body, []byte("i=")) {
				_, _, _ = login.Hear(nil, m)
			}
			data = data[used:]
		}
	})
}

func FuzzRow(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x00\x00\x011"), 2)
	f.Fuzz(func(t *testing.T, body []byte, places int) {
		r := ReadRow(body)
		n := 0
		for ; r.More(); n++ {
			r.Decimal(places % 8)
		}
		if n > 1<<16 {
			t.Fatal("more values than a row can hold")
		}
	})
}

// What a server says stays on one line and steers no terminal.
func TestFaultIsOneLine(t *testing.T) {
	f := &Fault{Code: "42\n01", Message: "no\nplimsoll: done\x1b[2J", Hint: "try\r\n"}
	if got, want := f.Error(), `no\nplimsoll: done\u001b[2J (42\n01; try\u000d\n)`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
