package fabric

import (
	"strings"
	"testing"
)

func TestDecodingIsStrict(t *testing.T) {
	for _, text := range []string{"", "{", `{"leave":"x"}{}`, `{"more":1}`, "null null", `{"join":{"version":"2"}}`} {
		var c control
		if err := decode([]byte(text), &c); err == nil {
			t.Errorf("%.40q passes", text)
		}
	}
}

// A NATS server can obtain signatures of challenges only, in particular not of a TLS
// handshake.
func TestOnlyChallengesAreSigned(t *testing.T) {
	k, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.answer([]byte("iYh_0-aZ9Xw3Kfq")); err != nil {
		t.Errorf("a challenge: %v", err)
	}
	for _, text := range []string{"", strings.Repeat(" ", 64) + "TLS 1.3, client CertificateVerify\x00" + strings.Repeat("a", 32), "a b", "a\n", strings.Repeat("a", 65)} {
		if _, err := k.answer([]byte(text)); err == nil {
			t.Errorf("%q is signed", text)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"renew":{"sent":1}}`, `{"join":{"version":2,"name":"x","facts":{}}}`, `{"leave":"x"}`, `{"renewed":{"sent":1,"lease":-1}}`, `{"reset":{"stream":1,"why":"x"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c control
		if decode(data, &c) == nil && strings.Count(string(data), "{") == 0 && strings.TrimSpace(string(data)) != "null" {
			t.Errorf("%q is read as %+v", data, c)
		}
	})
}
