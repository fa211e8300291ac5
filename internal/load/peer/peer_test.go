package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
)

func TestHeaderRoundTrip(t *testing.T) {
	d := make([]byte, HeaderSize+3)
	want := Header{Stamp: 1 << 31, Flow: 7, Number: 1<<63 + 5}
	want.Put(d)
	if got, ok := ReadHeader(d); !ok || got != want {
		t.Errorf("read %+v, %v, want %+v", got, ok, want)
	}
	if _, ok := ReadHeader(d[:HeaderSize-1]); ok {
		t.Error("a part of a header passes")
	}
}

func TestBatchCarriesDatagrams(t *testing.T) {
	server, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := net.DialUDP("udp", nil, server.LocalAddr().(*net.UDPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	out, in := NewBatch(8, 20), NewBatch(16, 8)
	for i := range 8 {
		copy(out.Datagram(i), fmt.Sprintf("number %d of these", i))
		out.Address(i, 9+i)
	}
	use(t, client, func(fd int) {
		if n, err := out.Send(fd, 1, 7); n != 6 || err != 0 {
			t.Fatalf("sent %d, %v", n, err)
		}
	})
	use(t, server, func(fd int) {
		n, err := in.Receive(fd)
		if n != 6 || err != 0 {
			t.Fatalf("received %d, %v", n, err)
		}
		for i := range n {
			if want := fmt.Sprintf("number %d of these", i+1)[:8]; in.Length(i) != 10+i || string(in.Datagram(i)) != want {
				t.Errorf("datagram %d is %q of %d bytes, want %q of %d", i, in.Datagram(i), in.Length(i), want, 10+i)
			}
			in.Reply(i, 4)
		}
		if n, err := in.Send(fd, 0, n); n != 6 || err != 0 {
			t.Fatalf("replied %d, %v", n, err)
		}
		if n, err := in.Receive(fd); n != 0 || err == 0 {
			t.Errorf("%d more, %v", n, err)
		}
	})
	answer := make([]byte, 20)
	client.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, err := client.Read(answer); n != 4 || err != nil {
		t.Errorf("the answer has %d bytes, %v", n, err)
	}
	if use(t, client, func(fd int) { out.Send(fd, 0, 1); in.Receive(fd) }); testing.AllocsPerRun(100, func() {
		for i := range 8 {
			out.Address(i, 9)
		}
	}) != 0 {
		t.Error("a batch allocates as it goes")
	}
}

func use(t *testing.T, c *net.UDPConn, do func(fd int)) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { do(int(fd)) }); err != nil {
		t.Fatal(err)
	}
}

// answering is a far side that greets and then says one thing to each question.
func answering(t *testing.T, answers ...string) load.Endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, "{\"plimsoll\":\"reflect\",\"version\":1}\n")
		lines := NewLines(conn)
		for _, a := range answers {
			var q Question
			if lines.Read(&q) != nil {
				return
			}
			io.WriteString(conn, a)
		}
	}()
	return load.Endpoint{Network: "tcp", Address: l.Addr().String()}
}

// Each thing that a far side may say wrongly is an error, and soon.
func TestSessionTellsWhatIsWrong(t *testing.T) {
	for want, answer := range map[string]string{
		"the reflector exited":           "",
		"refused: no such thing":         "{\"error\":\"no such thing\"}\n",
		"unexpected response":            "{\"counts\":{\"elapsed\":1}}\n",
		"within a line":                  "{\"ready\":",
		"does not speak the protocol":    "ready when you are\n",
		"unknown field":                  "{\"ready\":{\"port\":1,\"colour\":2}}\n",
		"reflector: unexpected response": "{\"ready\":{\"port\":99999}}\n",
	} {
		s, err := greeted(t.Context(), answering(t, answer))
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Prepare(t.Context(), Test{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", answer, err, want)
		}
		s.Close()
	}
}

// An answer counts although the connection ended right after it.
func TestSessionTakesTheLastAnswer(t *testing.T) {
	for range 50 {
		s, err := greeted(t.Context(), answering(t, "{\"ready\":{\"port\":5201}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		s.asked.Store(true)
		if err := s.lines.Write(Question{Test: &Test{}}); err != nil {
			t.Fatal(err)
		}
		<-s.Gone()
		if a, err := s.answer(t.Context()); err != nil || a.Ready == nil || a.Ready.Port != 5201 {
			t.Fatalf("got %+v, %v", a, err)
		}
		s.Close()
	}
}

// A second answer to one question ends the session.
func TestSessionTellsWhatWasNotAsked(t *testing.T) {
	s, err := greeted(t.Context(), answering(t, "{\"error\":\"a\"}\n{\"error\":\"b\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Prepare(t.Context(), Test{}); err == nil {
		t.Error("a refusal is no error")
	}
	<-s.Gone()
	if _, err := s.Prepare(t.Context(), Test{}); err == nil || !strings.Contains(err.Error(), "unsolicited response") {
		t.Errorf("got %v", err)
	}
}

// greeted begins a session with what listens at an endpoint.
func greeted(ctx context.Context, at load.Endpoint) (*Session, error) {
	conn, err := net.Dial(at.Network, at.Address)
	if err != nil {
		return nil, err
	}
	return Greet(ctx, conn)
}

func TestSessionEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := greeted(ctx, load.Endpoint{Network: "tcp", Address: l.Addr().String()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestChecks(t *testing.T) {
	good := Test{Mode: Echo, Network: "tcp", Flows: 1, Request: 1, Response: 1}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Test){
		func(c *Test) { c.Flows = MostFlows + 1 }, func(c *Test) { c.Request = MostBytes + 1 },
		func(c *Test) { c.Network, c.Request = "udp", MostPacket+1 }, func(c *Test) { c.Mode = Sink },
	} {
		bad := good
		change(&bad)
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

// FuzzLines wants no input to make a reader fail in a way that it does not tell,
// and what was read to be written and read again the same.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"test\":{\"mode\":\"echo\",\"network\":\"tcp\",\"flows\":1}}\n"))
	f.Add([]byte("{\"ask\":\"go\"}\n{}\nnull\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := NewLines(bytes.NewBuffer(text))
		for {
			var q, again Question
			if lines.Read(&q) != nil {
				return
			}
			var wire bytes.Buffer
			if err := NewLines(&wire).Write(q); err != nil {
				t.Fatal(err)
			}
			err := NewLines(&wire).Read(&again)
			if err != nil || (q.Test == nil) != (again.Test == nil) || q.Test != nil && *q.Test != *again.Test || q.Ask != again.Ask {
				t.Fatalf("%+v is read again as %+v, %v", q, again, err)
			}
		}
	})
}
