package mariadb

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// near is a machine from which one address is reached: a server that waits for eight bytes before it sends
// anything, and stays silent on the first connections.
type near struct {
	platform.Machine
	silent int
	word   string
	taken  int
}

const at = "127.0.0.1:3306"

// Dial connects to the server.
func (n *near) Dial(_ context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" || address != at {
		return nil, &net.AddrError{Err: "no such server", Addr: address}
	}
	client, server := net.Pipe()
	n.taken++
	word := n.word
	if n.taken <= n.silent {
		word = ""
	}
	go func() {
		_, _ = io.ReadFull(server, make([]byte, 8))
		if word != "" {
			_, _ = io.WriteString(server, word)
		}
		_, _ = io.Copy(io.Discard, server)
		server.Close()
	}()
	return client, nil
}

// A server that waits for the client is recognized early, and one that greets late is not
// mistaken for it.
func TestServersThatDoNotGreet(t *testing.T) {
	for word, want := range map[string]string{
		"N":                            "does not speak the protocol of MariaDB: it answers as PostgreSQL does: correct address",
		"S":                            "it answers as PostgreSQL does",
		"HTTP/1.1 400 Bad Request\r\n": `does not speak the protocol of MariaDB: it answers "HTTP/"`,
		"":                             "no handshake packet from the server: it was enough",
		"\x4a\x00\x00\x00\x0a5.5.5-10": "no handshake packet from the server: it was enough",
		"\x4a\x00\x00\x00\xff\x69\x04": "no handshake packet from the server: it was enough",
	} {
		synctest.Test(t, func(t *testing.T) { checkGreeting(t, word, want) })
	}
}

func checkGreeting(t *testing.T, word, want string) {
	s, err := Kind().New(parameter.Settings{"address": at})
	if err != nil {
		t.Errorf("%q: %v", word, err)
		return
	}
	enough, soon := 30*time.Second, silence+replying
	if strings.HasSuffix(want, "enough") {
		enough, soon = silence+replying+time.Second, silence+replying+time.Second
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), enough, errEnough{})
	defer cancel()
	begun := time.Now()
	m := &near{silent: 1, word: word}
	_, err = s.Check(ctx, service.Env{Machine: m})
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: got %v", word, err)
	}
	if took := time.Since(begun); took > soon {
		t.Errorf("%q: it took %s", word, took)
	}
	if m.taken != 2 {
		t.Errorf("%q: it was asked on %d connections", word, m.taken)
	}
}

type errEnough struct{}

func (errEnough) Error() string { return "it was enough" }
