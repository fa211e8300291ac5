package mysql

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/wire"
)

// helloOverTLS is what a server says first that has TLS.
var helloOverTLS = strings.Replace(hello, "\xfe\xf7", "\xfe\xff", 1)

// A password that the server does not remember goes in the clear where nobody listens, and
// only there.
func TestLoginOverTLS(t *testing.T) {
	l := newLogin(wire.Account{User: "bench", Password: "hush"})
	b, _, err := l.Hear(nil, Packet{overTLS, []byte(helloOverTLS)})
	if err != nil || b[3] != overTLS+1 || uint32(b[5])<<8&canTLS == 0 {
		t.Errorf("it answers %q, %v", b, err)
	}
	if _, _, err = l.Hear(nil, Packet{3, []byte("\xfecaching_sha2_password\x00uvwxyzuvwxyzuvwxyzuv\x00")}); err != nil {
		t.Error(err)
	}
	if b, _, err = l.Hear(nil, Packet{5, []byte{1, 4}}); err != nil || string(b) != "\x05\x00\x00\x06hush\x00" {
		t.Errorf("it is not remembered: %q, %v", b, err)
	}
}

// one has a server at one end of a connection, and asks it for TLS at the other.
func one(t *testing.T, patience time.Duration, server func(conn net.Conn)) (net.Conn, error) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	go server(far)
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, errors.New("it took too long"))
	defer cancel()
	return Secure(ctx, near, &tls.Config{InsecureSkipVerify: true})
}

func TestSecureToldNo(t *testing.T) {
	for want, first := range map[string]string{
		"the server does not support TLS": string(said(0, hello)),
		"Too many connections (1040)":     string(said(0, "\xff\x10\x04Too many connections")),
		"does not speak the protocol":     "HTTP/1.1 400 Bad Request\r\n",
		"no handshake packet":             "",
		"truncated handshake packet":      string(said(0, hello[:40])),
	} {
		patience := 10 * time.Second
		if first == "" {
			patience = 20 * time.Millisecond
		}
		_, err := one(t, patience, func(conn net.Conn) { _, _ = io.WriteString(conn, first) })
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// What was heard before TLS is heard again over it, with a number that tells, and nothing of
// what follows is lost.
func TestSecure(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	paper := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, paper, paper, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 1)
	conn, err := one(t, 10*time.Second, func(conn net.Conn) {
		_, _ = conn.Write(said(0, helloOverTLS))
		request := make([]byte, headLength+32)
		_, _ = io.ReadFull(conn, request)
		asked <- string(request)
		secure := tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
		_, _ = secure.Write(said(3, fine))
	})
	if err != nil {
		t.Fatal(err)
	}
	if request := <-asked; request[3] != 1 || uint32(request[5])<<8&canTLS == 0 {
		t.Errorf("it asks with %q", request)
	}
	want := string(said(overTLS, helloOverTLS)) + string(said(3, fine))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("heard %q, %v", got, err)
	}
}
