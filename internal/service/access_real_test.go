package service_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/postgres"
	"plimsoll/internal/service"
	"plimsoll/internal/service/mariadb"
	"plimsoll/internal/service/postgresql"
	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
)

// papers are certificates for servers at 127.0.0.1: a valid one and an expired one.
func papers(t *testing.T) (good, old service.Certificate) {
	t.Helper()
	hosts := []string{service.Loopback}
	good, err := service.MakeCertificate(time.Now().AddDate(0, 0, -1), hosts)
	if err == nil {
		old, err = service.MakeCertificate(time.Now().AddDate(0, -3, 0), hosts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return good, old
}

// file writes a file of the test.
func file(t *testing.T, name string, data []byte) string {
	t.Helper()
	full := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(full, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return full
}

// kind is the service of a protocol.
func kind(protocol string) service.Kind {
	if protocol == engine.MariaDB {
		return mariadb.Kind()
	}
	return postgresql.Kind()
}

func here(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p.Machine()
}

// use connects to a running server, and returns the service's description of it.
func use(t *testing.T, protocol string, settings parameter.Settings) (map[string]string, error) {
	t.Helper()
	s, err := kind(protocol).New(settings)
	if err != nil {
		return nil, err
	}
	i, err := s.Start(t.Context(), service.Env{Machine: here(t)})
	if err != nil {
		return nil, err
	}
	defer i.Stop(context.Background()) //nolint:errcheck // the server is not ours
	return i.Observed(t.Context())
}

// A running server is used over TLS, and its certificate is verified. Errors fit on one line.
func TestRealTLS(t *testing.T) {
	for protocol, name := range map[string]string{engine.PostgreSQL: "postgresql", engine.MariaDB: "mariadb"} {
		t.Run(name, func(t *testing.T) {
			good, old := papers(t)
			ca, other := file(t, "ca", good.CA), file(t, "ca", old.CA)
			one := enginetest.Secure(t, protocol, enginetest.Certificates(good))
			at := one.At.Address
			elsewhere := strings.Replace(at, service.Loopback, "localhost", 1)
			for _, c := range []struct {
				settings parameter.Settings
				tls      string
				want     string
			}{
				{parameter.Settings{"address": at}, "false", ""},
				{parameter.Settings{"address": at, "tls": "true", "ca": ca}, "true", ""},
				{parameter.Settings{"address": elsewhere, "tls": "true", "tls_verify": "false"}, "true", ""},
				{parameter.Settings{"address": at, "tls": "true", "ca": "/does/not/exist"}, "", "ca: open /does/not/exist"},
				{parameter.Settings{"address": at, "tls": "true"}, "", "the certificate of the server is signed by an unknown authority: specify the file of its CA in ca"},
				{parameter.Settings{"address": at, "tls": "true", "ca": other}, "", "the certificate of the server is not signed by the CA in ca"},
				{parameter.Settings{"address": elsewhere, "tls": "true", "ca": ca}, "", "the certificate of the server is for 127.0.0.1, not for localhost: use that name in address"},
			} {
				observed, err := use(t, protocol, c.settings)
				if c.want == "" && (err != nil || observed["tls"] != c.tls) {
					t.Errorf("%v: TLS is %q, %v", c.settings, observed["tls"], err)
				}
				told(t, c.settings, err, c.want)
			}
			proven(t, one, ca)
			expired, plain := enginetest.Secure(t, protocol, enginetest.Certificates(old)), enginetest.Start(t, enginetest.Setup{Protocol: protocol, Words: without(protocol)})
			_, err := use(t, protocol, parameter.Settings{"address": expired.At.Address, "tls": "true", "ca": other})
			told(t, nil, err, "the certificate of the server is valid from "+time.Now().AddDate(0, -3, 0).UTC().Format(time.DateOnly))
			_, err = use(t, protocol, parameter.Settings{"address": plain.At.Address, "tls": "true", "ca": ca})
			told(t, nil, err, "the server does not support TLS: ")
		})
	}
}

// without disables TLS of a server.
func without(protocol string) []string {
	if protocol == engine.MariaDB {
		return []string{"--skip-ssl"}
	}
	return nil
}

// told checks for an error of one line.
func told(t *testing.T, settings parameter.Settings, err error, want string) {
	t.Helper()
	if want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
		t.Errorf("%v gives %v, and not: %s", settings, err, want)
	}
}

// proven creates a user who needs a password and TLS.
func proven(t *testing.T, s *enginetest.Server, ca string) {
	t.Helper()
	t.Setenv("PLIMSOLL_TEST_SECRET", "hush")
	t.Setenv("PLIMSOLL_TEST_WRONG", "loud")
	sql, refused := "CREATE USER clerk IDENTIFIED BY 'hush' REQUIRE SSL", "Access denied for user 'clerk'"
	if s.Protocol == engine.PostgreSQL {
		sql, refused = "CREATE ROLE clerk LOGIN PASSWORD 'hush'; SELECT pg_reload_conf()", "no encryption"
		rules := []byte("hostssl all clerk all scram-sha-256\nhost all clerk all reject\nhost all all all trust\n")
		if err := os.WriteFile(filepath.Join(s.Dir, "data", "pg_hba.conf"), rules, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Dial(t, "").Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
	settings := func(secret, tls string) parameter.Settings {
		p := parameter.Settings{"address": s.At.Address, "user": "clerk", "password": secret}
		if tls == "true" {
			p["tls"], p["ca"] = tls, ca
		}
		return p
	}
	_, err := use(t, s.Protocol, settings("env:PLIMSOLL_TEST_SECRET", "false"))
	for over := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(over); <-time.After(20 * time.Millisecond) {
		_, err = use(t, s.Protocol, settings("env:PLIMSOLL_TEST_SECRET", "false")) // the server reloads its rules asynchronously
	}
	told(t, nil, err, refused)
	if observed, err := use(t, s.Protocol, settings("env:PLIMSOLL_TEST_SECRET", "true")); err != nil || observed["tls"] != "true" {
		t.Errorf("with a password: %v, %v", observed, err)
	}
	_, err = use(t, s.Protocol, settings("env:PLIMSOLL_TEST_WRONG", "true"))
	told(t, nil, err, map[string]string{engine.MariaDB: refused, engine.PostgreSQL: "password authentication failed"}[s.Protocol])
	if err != nil && strings.Contains(err.Error(), "loud") {
		t.Errorf("it tells the password: %v", err)
	}
	if s.Protocol == engine.PostgreSQL {
		bound(t, s, ca)
	}
}

// between is a man in the middle: it relays a TLS connection with a certificate of its own.
type between struct {
	wire.Secured
	own *x509.Certificate
}

func (b between) ConnectionState() tls.ConnectionState {
	state := b.Secured.ConnectionState()
	state.PeerCertificates = []*x509.Certificate{b.own}
	return state
}

// bound checks that channel binding ties a SCRAM proof to one server.
func bound(t *testing.T, s *enginetest.Server, ca string) {
	t.Helper()
	pem, err := os.ReadFile(ca)
	if err != nil {
		t.Fatal(err)
	}
	at, err := wire.At(load.Endpoint{Network: "tcp", Address: s.At.Address, CA: pem})
	if err != nil {
		t.Fatal(err)
	}
	stranger, _ := papers(t)
	pair, err := tls.X509KeyPair(stranger.Cert, stranger.Key)
	if err != nil {
		t.Fatal(err)
	}
	for _, posed := range []bool{false, true} {
		conn, err := net.Dial("tcp", s.At.Address)
		if err != nil {
			t.Fatal(err)
		}
		secure, err := postgres.Secure(t.Context(), conn, at.TLS)
		if err != nil {
			t.Fatal(err)
		}
		if posed {
			secure = between{secure.(wire.Secured), pair.Leaf}
		}
		session, err := postgres.Open(t.Context(), secure, wire.Account{User: "clerk", Database: "postgres", Password: "hush"})
		if err == nil {
			session.Close()
		}
		if posed != (err != nil && strings.Contains(err.Error(), "channel binding check failed")) {
			t.Errorf("with somebody between: %t, %v", posed, err)
		}
	}
}
