package snapshot

import (
	"bytes"
	"strings"
	"testing"
)

// The time of a snapshot survives writing and reading, as YAML and as JSON.
func TestWhenItWasSeen(t *testing.T) {
	const text = "cluster: lab\nat: 2026-11-21T14:00:00Z\nhosts:\n  - {name: esx, cores: 16, memory: 256GiB, mhz: 2600}\n"
	c, err := Read("lab.yaml", []byte(text))
	if err != nil || c.At != "2026-11-21T14:00:00Z" {
		t.Fatalf("%v, at %q", err, c.At)
	}
	var yaml, json bytes.Buffer
	if err := Write(&yaml, c); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&json, c); err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string][]byte{"lab.yaml": yaml.Bytes(), "lab.json": json.Bytes()} {
		if back, err := Read(name, again); err != nil || back.At != c.At {
			t.Errorf("%s: %v\n%s", name, err, again)
		}
	}
	c.At = "now"
	if err := Write(&yaml, c); err == nil || !strings.Contains(err.Error(), "time \"now\" is invalid") {
		t.Errorf("what cannot be read is written: %v", err)
	}
}
