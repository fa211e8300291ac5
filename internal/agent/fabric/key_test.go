package fabric

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeysStayInTheirFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "made", "agent.key")
	k, err := KeepKey(name)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := KeepKey(name); err != nil || again.Public() != k.Public() {
		t.Errorf("the key read again is another: %v", err)
	}
	if err := k.Write(name); err == nil {
		t.Error("a key file was written over")
	}
	seed, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that all can read: %v", err)
	}
	// An error about a secret key in place of a public one does not print it.
	list := filepath.Join(t.TempDir(), "agents")
	secret := strings.TrimSpace(string(seed))
	for _, bad := range []string{secret, "U", strings.ToLower(k.Public())} {
		if err := Allow(list, bad); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("allow a key that is none: %v", err)
		}
	}
	if err := os.WriteFile(list, []byte("# mine\n\n"+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadAllowed(list); err == nil || !strings.Contains(err.Error(), ":3:") || strings.Contains(err.Error(), secret[:10]) {
		t.Errorf("a list with a secret: %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken.key")
	if err := os.WriteFile(broken, []byte(secret[:40]), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadKey(broken); err == nil || strings.Contains(err.Error(), secret[:10]) {
		t.Errorf("a broken key: %v", err)
	}
}

func TestAllowKeepsTheList(t *testing.T) {
	list := filepath.Join(t.TempDir(), "lab", "agents")
	one, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Allow(list, one.Public(), "rack 3\nU second line"); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := ReadAllowed(list); err != nil || len(keys) != 1 || keys[0] != one.Public() {
		t.Errorf("the list holds %v, %v", keys, err)
	}
	if keys, err := ReadAllowed(list + "none"); err != nil || keys != nil {
		t.Errorf("no list holds %v, %v", keys, err)
	}
}

func TestLabels(t *testing.T) {
	for _, bad := range []string{"", "a", "=b", "a=", "a b=c", "a=b c", "a=\nb", "-a=b", "a=" + strings.Repeat("x", 64)} {
		if l, err := ParseLabels([]string{bad}); err == nil {
			t.Errorf("%q is read as %v", bad, l)
		}
	}
	l, err := ParseLabels([]string{"role=client", "zone=eu-1/a.b"})
	if err != nil || LabelText(l) != "role=client zone=eu-1/a.b" {
		t.Errorf("%v, %v", l, err)
	}
	if _, err := ParseLabels([]string{"a=b", "a=c"}); err == nil {
		t.Error("a label that is given twice passes")
	}
	if !Matches(l, map[string]string{"role": "client"}) || !Matches(l, nil) || Matches(l, map[string]string{"role": "server"}) || Matches(nil, l) {
		t.Error("labels match what they should not, or the other way round")
	}
}

func TestTheWayBeyondLoopbackIsGuarded(t *testing.T) {
	const pin = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for _, c := range []struct {
		url, ca string
		ok      bool
	}{
		{"nats://127.0.0.1:4222", "", true}, {"nats://[::1]:4222", "", true}, {"nats://localhost:4222", "", true},
		{"nats://lab:4222", pin, true}, {"tls://a:1,tls://b:2", pin, true},
		{"nats://lab:4222", "", false}, {"nats://127.0.0.1:1,nats://10.0.0.1:1", "", false},
		{"nats://lab:4222", "sha256:00", false}, {"nats://user:secret@127.0.0.1:1", "", false}, {"http://127.0.0.1", "", false}, {"lab", pin, false}, {"", "", false},
	} {
		_, err := security(c.url, c.ca)
		if (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s with %q: %v", c.url, c.ca, err)
		}
	}
}
