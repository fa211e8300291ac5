package agent_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/agent/toolbox"
)

func TestRoundTrip(t *testing.T) {
	for address, exit := range map[string]int{"127.0.0.1": 0, "nowhere": 2, "": 2, "255.255.255.255": 1} {
		var out, complaints bytes.Buffer
		got, known := toolbox.Run("roundtrip", toolbox.Call{Args: []string{address}, Stdout: &out, Stderr: &complaints})
		if got != exit || !known {
			t.Errorf("%q: exit status %d, %v: %s", address, got, known, complaints.String())
		}
		if exit != 0 {
			continue
		}
		if d, err := strconv.ParseFloat(strings.TrimSpace(out.String()), 64); err != nil || d <= 0 || d > 1 {
			t.Errorf("%q: %s, %v", address, out.String(), err)
		}
	}
}
