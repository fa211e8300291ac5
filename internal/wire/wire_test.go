package wire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
)

func TestSecret(t *testing.T) {
	t.Setenv("PLIMSOLL_TEST_SECRET", "hush")
	if s, err := secret("env:PLIMSOLL_TEST_SECRET"); s != "hush" || err != nil {
		t.Error(s, err)
	}
	for _, reference := range []string{"hush", "env:", "env:PLIMSOLL_NOT_SET", "file:/does/not/exist"} {
		if _, err := secret(reference); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s gives %v", reference, err)
		}
	}
}

func TestAt(t *testing.T) {
	for _, c := range []struct {
		e    load.Endpoint
		name string // that the certificate must have; empty without TLS
		want string
	}{
		{load.Endpoint{Network: "tcp", Address: "db:1"}, "", ""},
		{load.Endpoint{Network: "unix", Address: "/s"}, "", ""},
		{load.Endpoint{Network: "tcp", Address: "db:1", TLS: true}, "db", ""},
		{load.Endpoint{Network: "udp", Address: "db:1"}, "", "listens on tcp or unix"},
		{load.Endpoint{Network: "unix", Address: "/s", TLS: true}, "", "TLS requires host:port"},
		{load.Endpoint{Network: "tcp", Address: "db:1", CA: []byte("none")}, "", "must be in PEM"},
	} {
		p, err := At(c.e)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v gives %v", c.e, err)
			}
			continue
		}
		if err != nil || (p.TLS != nil) != (c.name != "") || p.TLS != nil && p.TLS.ServerName != c.name {
			t.Errorf("%+v is %+v, %v", c.e, p, err)
		}
	}
}

// paper is a self-signed certificate.
func paper(t *testing.T, from time.Time, name string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: from, NotAfter: from.Add(24 * time.Hour), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func TestHandshake(t *testing.T) {
	hour := time.Now().Add(-time.Hour)
	good, old, other := paper(t, hour, "db"), paper(t, hour.AddDate(-1, 0, 0), "db"), paper(t, hour, "web")
	for want, c := range map[string]struct {
		has     tls.Certificate
		trusted *tls.Certificate
	}{
		"":                               {good, &good},
		"is not signed by the CA":        {good, &other},
		"signed by an unknown authority": {good, nil},
		"is valid from " + old.Leaf.NotBefore.UTC().Format(time.DateTime): {old, &old},
		"is for web, not for db": {other, &other},
	} {
		near, far := net.Pipe()
		go func() { _ = tls.Server(far, &tls.Config{Certificates: []tls.Certificate{c.has}}).Handshake() }()
		config := &tls.Config{ServerName: "db"}
		if c.trusted != nil {
			config.RootCAs = x509.NewCertPool()
			config.RootCAs.AddCert(c.trusted.Leaf)
		}
		secure, err := Handshake(t.Context(), near, config)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q: %v", want, err)
		}
		if err == nil {
			cut(secure) // which waits for nobody
		}
		near.Close()
		far.Close()
	}
}

// A peer that closes the connection or never answers delays nobody.
func TestHandshakeWithNobody(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		_, _ = io.ReadFull(far, make([]byte, 10))
		far.Close()
	}()
	if _, err := Handshake(t.Context(), near, &tls.Config{ServerName: "db"}); err == nil || !strings.Contains(err.Error(), "closed the connection") && !strings.Contains(err.Error(), "closed pipe") {
		t.Errorf("a peer that closes the connection: %v", err)
	}
	near, far = net.Pipe()
	defer far.Close()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("it says nothing"))
	defer cancel()
	if _, err := Handshake(ctx, near, &tls.Config{ServerName: "db"}); err == nil || !strings.Contains(err.Error(), "it says nothing") {
		t.Errorf("one who says nothing: %v", err)
	}
}

// word is a protocol of words that end with a full stop.
func word(data []byte) int { return strings.IndexByte(string(data), '.') + 1 }

func TestStream(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		for _, piece := range []string{"a", "b.c", ".de", "."} {
			_, _ = io.WriteString(far, piece)
		}
		far.Close()
	}()
	s := NewStream(near)
	var heard []string
	listen := func() error {
		return s.Hear(func(data []byte) (int, error) {
			used := word(data)
			if used > 0 {
				heard = append(heard, string(data[:used]))
			}
			return used, nil
		})
	}
	err := s.During(t.Context(), func() error {
		for range 3 {
			if err := listen(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || fmt.Sprint(heard) != "[ab. c. de.]" {
		t.Errorf("heard %q, %v", heard, err)
	}
	if err := listen(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	if err := s.During(t.Context(), func() error { return nil }); err == nil || !strings.Contains(err.Error(), "the session is closed") {
		t.Errorf("once it is over: %v", err)
	}
}

// A peer that says nothing holds nobody up longer than the context does, and what is said
// of it is one line.
func TestStreamThatIsCut(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s := NewStream(near)
	why := errors.New("it says nothing")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, why)
	defer cancel()
	if err := s.During(ctx, func() error { return s.Hear(func([]byte) (int, error) { return 0, nil }) }); err == nil || err.Error() != why.Error() {
		t.Errorf("it ends with %v", err)
	}
}

// A connection may have the deadline of the context, and notice it first.
func TestStreamThatIsLate(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	why := errors.New("it says nothing")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, why)
	defer cancel()
	until, _ := ctx.Deadline()
	if err := near.SetDeadline(until); err != nil {
		t.Fatal(err)
	}
	err := NewStream(near).During(ctx, func() error {
		_, err := near.Read(make([]byte, 1))
		return err
	})
	if !errors.Is(err, why) {
		t.Errorf("it ends with %v", err)
	}
}

// One that is busy is asked again, and one that is not there is told at once.
func TestDial(t *testing.T) {
	busy := errors.New("full")
	asked := 0
	b := Beginning[string]{
		Open: func(_ context.Context, conn net.Conn, a Account) (string, error) {
			conn.Close()
			if asked++; asked < 3 {
				return "", busy
			}
			return a.User + " in " + a.Database, nil
		},
		Busy: func(err error) bool { return errors.Is(err, busy) },
	}
	connect := func(context.Context, string, string) (net.Conn, error) {
		near, _ := net.Pipe()
		return near, nil
	}
	s, err := b.Dial(t.Context(), Target{User: "clerk", Database: "shop", Connect: connect}, "")
	if err != nil || s != "clerk in shop" || asked != 3 {
		t.Errorf("%q after %d times, %v", s, asked, err)
	}
	if _, err := b.Dial(t.Context(), Target{Network: "tcp", Address: "127.0.0.1:1"}, ""); !Gone(err) || !strings.Contains(err.Error(), "nothing listens there: start the service") {
		t.Errorf("where nobody is: %v", err)
	}
	if _, err := b.Dial(t.Context(), Target{Secret: "hush", Connect: connect}, ""); err == nil || strings.Contains(err.Error(), "hush") {
		t.Errorf("a secret: %v", err)
	}
}

func TestDecimal(t *testing.T) {
	for text, want := range map[string]int64{"1": 100, "1.5": 150, "-0.07": -7, "12.349": 1234} {
		if n, ok := Decimal([]byte(text), 2); !ok || n != want {
			t.Errorf("%s is %d", text, n)
		}
	}
	for _, text := range []string{"", "-", "1e5", "1.2.3", "NaN", "12345678901234567890"} {
		if n, ok := Decimal([]byte(text), 2); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
}
