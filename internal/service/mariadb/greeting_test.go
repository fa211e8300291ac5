package mariadb

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// answering is a server that waits for eight bytes before it sends anything, and stays silent
// on the first connections.
func answering(t *testing.T, silent int, word string) (address string, taken *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken = &atomic.Int32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if int(taken.Add(1)) <= silent {
				go func() { _, _ = io.Copy(io.Discard, conn); conn.Close() }()
				continue
			}
			go func() {
				_, _ = io.ReadFull(conn, make([]byte, 8))
				_, _ = io.WriteString(conn, word)
				_, _ = io.Copy(io.Discard, conn)
				conn.Close()
			}()
		}
	}()
	return l.Addr().String(), taken
}

// A server that waits for the client is recognized early, and one that greets late is not
// mistaken for it.
func TestServersThatDoNotGreet(t *testing.T) {
	var checks sync.WaitGroup // all wait; t.Parallel runs as many as there are CPUs
	defer checks.Wait()
	for word, want := range map[string]string{
		"N":                            "does not speak the protocol of MariaDB: it answers as PostgreSQL does: correct address",
		"S":                            "it answers as PostgreSQL does",
		"HTTP/1.1 400 Bad Request\r\n": `does not speak the protocol of MariaDB: it answers "HTTP/"`,
		"":                             "no handshake packet from the server: it was enough",
		"\x4a\x00\x00\x00\x0a5.5.5-10": "no handshake packet from the server: it was enough",
		"\x4a\x00\x00\x00\xff\x69\x04": "no handshake packet from the server: it was enough",
	} {
		checks.Go(func() { checkGreeting(t, word, want) })
	}
}

func checkGreeting(t *testing.T, word, want string) {
	at, taken := answering(t, 1, word)
	s, err := Kind().New(parameter.Settings{"address": at})
	if err != nil {
		t.Errorf("%q: %v", word, err)
		return
	}
	enough := 30 * time.Second
	if strings.HasSuffix(want, "enough") {
		enough = silence + replying/2
		if loadtest.Whole() {
			enough = silence + replying + time.Second
		}
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), enough, errEnough{})
	defer cancel()
	begun := time.Now()
	_, err = s.Check(ctx, service.Env{Machine: near{}})
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: got %v", word, err)
	}
	if took := time.Since(begun); enough > 10*time.Second && took > 8*time.Second {
		t.Errorf("%q: it took %s", word, took)
	}
	if n := taken.Load(); n != 2 {
		t.Errorf("%q: it was asked on %d connections", word, n)
	}
}

type errEnough struct{}

func (errEnough) Error() string { return "it was enough" }

// near is this machine, and must not be used.
type near struct{ platform.Machine }
