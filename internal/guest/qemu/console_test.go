package qemu

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestLogIsBounded(t *testing.T) {
	l := &log{}
	for i := range 100_000 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	b := l.bytes()
	if len(b) > keptHead+keptTail*5/4+100 || !bytes.HasPrefix(b, []byte("line 0\n")) || !bytes.HasSuffix(b, []byte("line 99999\n")) || !bytes.Contains(b, []byte("bytes are left out here]")) {
		t.Errorf("%d bytes kept, %.20q to %.20q", len(b), b, b[len(b)-20:])
	}
	if got := l.lastLines(2); got != "line 99998\nline 99999" {
		t.Errorf("%q", got)
	}
}

func TestComplaintsAreCounted(t *testing.T) {
	c := &complaints{}
	for _, p := range []string{"qemu: warning: TCG doesn't supp", "ort requested feature: x\nqemu: real tr", "ouble\n", strings.Repeat("x", 3*longestComplaint)} {
		if n, err := c.Write([]byte(p)); n != len(p) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := string(c.bytes()); c.features() != 1 || !strings.HasPrefix(got, "qemu: real trouble\nxxx") {
		t.Errorf("%d features, %.40q", c.features(), got)
	}
}
