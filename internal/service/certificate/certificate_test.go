package certificate

import (
	"crypto/tls"
	"testing"
	"time"
)

// A certificate is valid for its hosts from its instant on, and its files are it and its key.
func TestNew(t *testing.T) {
	from := time.Now().Truncate(time.Second)
	c, err := New(from, []string{"localhost", "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name, data := range c.Files() {
		files[name] = data
	}
	pair, err := tls.X509KeyPair(files[CertFile], files[KeyFile])
	if err != nil {
		t.Fatal(err)
	}
	if !pair.Leaf.NotBefore.Equal(from) || pair.Leaf.VerifyHostname("192.0.2.1") != nil || pair.Leaf.VerifyHostname("192.0.2.2") == nil {
		t.Errorf("valid from %s, for %v and %v", pair.Leaf.NotBefore, pair.Leaf.DNSNames, pair.Leaf.IPAddresses)
	}
	for name := range (Certificate{}).Files() {
		t.Errorf("without TLS there is %s", name)
	}
}
