package vsphere_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"plimsoll/internal/vsphere/session"
)

func FuzzParseThumbprint(f *testing.F) {
	f.Add(strings.Repeat("AB:", 31) + "AB")
	f.Add("12")
	f.Fuzz(func(t *testing.T, text string) {
		print, err := session.ParseThumbprint(text)
		if err != nil {
			return
		}
		if !strings.EqualFold(hex.EncodeToString(print[:]), strings.ReplaceAll(text, ":", "")) {
			t.Errorf("%q is read as %x", text, print)
		}
	})
}
