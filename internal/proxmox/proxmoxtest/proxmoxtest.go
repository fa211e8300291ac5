// Package proxmoxtest starts a fake cluster of Proxmox VE for tests: fakepve, in a process of its
// own.
package proxmoxtest

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

//go:embed testdata/cluster.py
var program string

// Cluster is a fake cluster. It has the account root@pam with the password "secret".
type Cluster struct {
	Host        string // with its port
	CA          string // file with its certificate
	Fingerprint string // of it

	t   testing.TB
	mu  sync.Mutex
	in  *json.Encoder
	out *bufio.Reader
}

// Python is the interpreter that has fakepve. The test is skipped without PLIMSOLL_REAL=1 or
// where it is not installed.
func python(t testing.TB) string {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start a fake Proxmox VE")
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != "/"; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
	}
	name := filepath.Join(folder, "bin/fakepve/bin/python")
	if _, err := os.Stat(name); err != nil {
		t.Skip("no fake Proxmox VE was started: fakepve is missing (./setup test installs it)")
	}
	return name
}

// Start starts a cluster, which ends with the test.
func Start(t testing.TB) *Cluster {
	t.Helper()
	interpreter := python(t)
	c := &Cluster{t: t}
	folder := t.TempDir()
	key := c.certify(folder)
	cmd := exec.Command(interpreter, "-c", program, c.CA, key)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		timer := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("fakepve: %v: %s", err, said.Bytes())
		}
	})
	c.in, c.out = json.NewEncoder(in), bufio.NewReader(out)
	var port int
	c.answer(&port)
	c.Host = fmt.Sprintf("127.0.0.1:%d", port)
	return c
}

// certify makes a certificate for the loopback address.
func (c *Cluster) certify(folder string) (key string) {
	c.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "fakepve"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		c.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Fingerprint = fmt.Sprintf("%x", sha256.Sum256(raw))
	c.CA, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	for name, block := range map[string]*pem.Block{c.CA: {Type: "CERTIFICATE", Bytes: raw}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	return key
}

// Values are named arguments.
type Values map[string]any

// Do calls a method of the fake, with the last argument's values if they are Values, and returns
// the text of its result.
func (c *Cluster) Do(method string, args ...any) string {
	c.t.Helper()
	values := Values{}
	if len(args) > 0 {
		if v, named := args[len(args)-1].(Values); named {
			args, values = args[:len(args)-1], v
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.in.Encode(map[string]any{"call": method, "args": append([]any{}, args...), "values": values}); err != nil {
		c.t.Fatal(err)
	}
	var result any
	c.answer(&result)
	if text, is := result.(string); is {
		return text
	}
	return ""
}

func (c *Cluster) answer(into any) {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	if err != nil {
		c.t.Fatalf("fakepve says %q: %v", line, err)
	}
}
