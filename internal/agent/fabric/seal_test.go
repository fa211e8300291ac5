package fabric

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
)

func pairOf(t testing.TB) (agent, lab *session, key, labKey *Key) {
	t.Helper()
	key, err := NewKey()
	labKey, err2 := NewKey()
	c, err3 := newCourtship(key)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	h, body, err := disclose(c.sent)
	if err != nil {
		t.Fatal(err)
	}
	lab, answer, err := receive(labKey, h, body, Lease)
	if err != nil {
		t.Fatal(err)
	}
	w, text, err := discloseWelcome(answer, key.Public(), labKey.Public())
	if err != nil {
		t.Fatal(err)
	}
	if agent, err = c.accept(w, text); err != nil {
		t.Fatal(err)
	}
	return agent, lab, key, labKey
}

func sealed(t testing.TB, s *session, k kind, text string) (out []byte) {
	t.Helper()
	if err := s.out.send(k, []byte(text), func(b []byte) error { out = b; return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsForgedOrReplayedIsDropped(t *testing.T) {
	agent, lab, _, _ := pairOf(t)
	other, _, _, _ := pairOf(t)
	first, second := sealed(t, agent, kindControl, "one"), sealed(t, agent, kindControl, "two")
	if text, err := lab.in.open(kindControl, second); err != nil || string(text) != "two" {
		t.Fatalf("got %q, %v", text, err)
	}
	bad := map[string][]byte{
		"replayed": second, "overtaken": first, "empty": nil, "short": second[:20],
		"of another session": sealed(t, other, kindControl, "x"), "of the other direction": sealed(t, lab, kindControl, "x"),
		"of another kind": sealed(t, agent, kindRecord, "x"),
	}
	third := sealed(t, agent, kindControl, "three")
	for i := range third {
		forged := bytes.Clone(third)
		forged[i] ^= 1
		if _, err := lab.in.open(kindControl, forged); err == nil {
			t.Fatalf("a message changed at byte %d is opened", i)
		}
	}
	for what, data := range bad {
		if _, err := lab.in.open(kindControl, data); err == nil {
			t.Errorf("a message %s is opened", what)
		}
	}
	if text, err := lab.in.open(kindControl, third); err != nil || string(text) != "three" {
		t.Errorf("after all that the true one gives %q, %v", text, err)
	}
}

func TestTheHandshakeRefuses(t *testing.T) {
	_, _, key, labKey := pairOf(t)
	stranger, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	// A hello in somebody else's name.
	_, sent, err := enclose(stranger, "hello", hello{Version: version, Agent: key.Public(), Ephemeral: make([]byte, 32)})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := disclose(sent); err == nil {
		t.Error("a hello with another's signature passes")
	}
	// A signature that was made for another purpose.
	_, sent, err = enclose(key, "welcome", hello{Version: version, Agent: key.Public()})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := disclose(sent); err == nil {
		t.Error("a signature for a welcome passes for a hello")
	}
	c, err := newCourtship(key)
	if err != nil {
		t.Fatal(err)
	}
	earlier, err := newCourtship(key)
	if err != nil {
		t.Fatal(err)
	}
	h, body, err := disclose(earlier.sent)
	if err != nil {
		t.Fatal(err)
	}
	_, answer, err := receive(labKey, h, body, Lease)
	if err != nil {
		t.Fatal(err)
	}
	w, text, err := discloseWelcome(answer, key.Public(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.accept(w, text); err == nil {
		t.Error("the answer to an earlier hello is accepted")
	}
	if _, _, err := discloseWelcome(answer, stranger.Public(), ""); err == nil {
		t.Error("a welcome for another agent passes")
	}
	if _, _, err := discloseWelcome(answer, key.Public(), stranger.Public()); err == nil {
		t.Error("a welcome of another lab passes")
	}
	if _, _, err := receive(labKey, hello{Agent: key.Public(), Ephemeral: make([]byte, 32)}, body, Lease); err == nil {
		t.Error("a hello with a point of low order makes a session")
	}
}

func TestDecodingIsStrict(t *testing.T) {
	for _, text := range []string{"", "{", `{"leave":"x"}{}`, `{"more":1}`, `{"leave":"` + strings.Repeat("x", maxControl) + `"}`, "null null"} {
		var c control
		if err := decode([]byte(text), &c); err == nil {
			t.Errorf("%.40q passes", text)
		}
	}
}

func FuzzDisclose(f *testing.F) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, make([]byte, 32)) // the same in each process that fuzzes
	if err != nil {
		f.Fatal(err)
	}
	key, err := ofPair(pair)
	if err != nil {
		f.Fatal(err)
	}
	c, err := newCourtship(key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(c.sent)
	f.Add([]byte(`{"body":"e30=","signature":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, _, err := disclose(data); err == nil && h.Agent != key.Public() {
			t.Errorf("a hello of %s was made without its key", h.Agent)
		}
		if _, _, err := discloseWelcome(data, key.Public(), ""); err == nil {
			t.Error("a welcome was made of a hello, or of nothing")
		}
	})
}

// A joined lab is not brought out of order by control messages of a member.
func FuzzControl(f *testing.F) {
	for _, seed := range []string{`{"renew":{"sent":1}}`, `{"started":{"id":1,"at":2}}`, `{"join":{"name":"x","facts":{}}}`, `{"trouble":"x"}`, `{"leave":"x"}`, `{"renewed":{"sent":1,"lease":-1}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c control
		if decode(data, &c) != nil {
			return
		}
		l := quietLab(t)
		m := l.newMember("U", mustSession(t))
		l.admit(m, join{Name: "x"}, l.clock.Now())
		l.take(m, c, l.clock.Now())
		if n := len(l.Members()); n != 1 && (n != 0 || c.Leave == "") {
			t.Errorf("%s leaves %d members", data, n)
		}
	})
}
