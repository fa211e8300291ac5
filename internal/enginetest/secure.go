package enginetest

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/workload/engine"
)

// Certificates are the certificate of a server and its key, and its authority, in PEM.
type Certificates struct{ CA, Cert, Key []byte }

// Secure starts a server that speaks TLS as well.
func Secure(t *testing.T, protocol string, p Certificates) *Server {
	t.Helper()
	setup := Setup{Protocol: protocol, Prepare: func(dir string) {
		for name, data := range map[string][]byte{"crt": p.Cert, "key": p.Key} {
			file := filepath.Join(dir, name)
			err := os.WriteFile(file, data, 0o600)
			if err == nil && os.Getuid() == 0 {
				err = os.Chown(file, nobody, nobody)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}}
	// Servers go to the folder data.
	setup.Words = []string{"-c", "ssl=on", "-c", "ssl_cert_file=../crt", "-c", "ssl_key_file=../key"}
	if protocol == engine.MariaDB {
		setup.Words = []string{"--ssl-cert=../crt", "--ssl-key=../key"}
	}
	s := Start(t, setup)
	s.At.CA = p.CA
	return s
}
