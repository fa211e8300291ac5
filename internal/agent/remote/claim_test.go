package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/platform"
)

var _ platform.Claimer = (*Lasting)(nil)

// host is what several agents have in common.
type host struct {
	mu      sync.Mutex
	claimed map[string]platform.Claim
	log     []string // what was released and restored, in order
}

// claiming is a machine on a host.
type claiming struct {
	*echo
	host *host
}

func (c claiming) Claim(_ context.Context, of platform.Claim) (release func(), err error) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	for _, name := range of.Names {
		if other, there := c.host.claimed[name]; there {
			return nil, fmt.Errorf("%s: %s in %s: %w", name, other.Lab, other.Dir, platform.ErrClaimed)
		}
	}
	if c.host.claimed == nil {
		c.host.claimed = map[string]platform.Claim{}
	}
	for _, name := range of.Names {
		c.host.claimed[name] = of
	}
	return func() {
		c.host.mu.Lock()
		defer c.host.mu.Unlock()
		for _, name := range of.Names {
			delete(c.host.claimed, name)
		}
		c.host.log = append(c.host.log, "released "+of.Run)
	}, nil
}

func (h *host) server() Server {
	return Server{Machine: claiming{&echo{}, h}, Restore: func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.log = append(h.log, "restored")
		return nil
	}}
}

// Only one of two labs with agents on one host holds a setting. The claim of a lab that
// crashes is released after its settings were restored.
func TestTwoLabs(t *testing.T) {
	h := &host{}
	a, b := connected(t, h.server(), Client{}), connected(t, h.server(), Client{})
	first := platform.Claim{Run: "A", Dir: "/a", Log: "/undo", Names: []string{"x", "y"}}
	release, err := a.m.Claim(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if held := h.claimed["x"]; held.Log != "" || !strings.HasPrefix(held.Lab, "process ") {
		t.Errorf("the claim is %+v", held)
	}
	if _, err := b.m.Claim(t.Context(), platform.Claim{Run: "B", Names: []string{"y"}}); !errors.Is(err, platform.ErrClaimed) || !strings.Contains(err.Error(), "in /a") {
		t.Errorf("two have it: %v", err)
	}
	release()
	if got := strings.Join(h.log, ", "); got != "restored, released A" {
		t.Errorf("on release: %s", got)
	}
	release()
	if _, err := b.m.Claim(t.Context(), platform.Claim{Run: "B", Names: []string{"y"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.m.Claim(t.Context(), platform.Claim{Run: "B", Names: []string{"z"}}); err == nil {
		t.Error("a connection has two claims")
	}
	h.log = nil
	_ = b.raw.Close()
	_ = b.end(t)
	if got := strings.Join(h.log, ", "); got != "restored, released B" || len(h.claimed) != 0 {
		t.Errorf("after the lab died: %s, %v", got, h.claimed)
	}
}

func TestClaimsAreBounded(t *testing.T) {
	h := &host{}
	p := connected(t, h.server(), Client{})
	for what, c := range map[string]platform.Claim{
		"more than": {Run: "A", Names: []string{strings.Repeat("x", mostClaim)}},
		"too long":  {Run: strings.Repeat("A", mostName+1), Names: []string{"x"}},
		"places":    {Run: "A", Dir: strings.Repeat("x", mostPlace), Names: []string{"x"}},
	} {
		if _, err := p.m.Claim(t.Context(), c); err == nil || errors.Is(err, platform.ErrClaimed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, text := range []string{"", "[]", `{"run":"A","names":["x"]}`} {
		if _, err := p.m.do(t.Context(), request{Method: methodClaim, Stdin: true}, &call{stdin: strings.NewReader(text)}); err == nil {
			t.Errorf("%q is a claim", text)
		}
	}
	if _, err := p.m.do(t.Context(), request{Method: methodRelease, Name: []byte("A")}, &call{}); err == nil {
		t.Error("a claim was released that there is not")
	}
	if len(h.claimed) > 0 {
		t.Errorf("claimed: %v", h.claimed)
	}
	// A peer that restores nothing, such as a guest that ends with the run, has no claims.
	guest := connected(t, Server{Machine: claiming{&echo{}, h}}, Client{})
	if _, err := guest.m.Claim(t.Context(), platform.Claim{Run: "A", Names: []string{"x"}}); err != nil || len(h.claimed) > 0 {
		t.Errorf("a guest: %v, %v", err, h.claimed)
	}
	if _, err := guest.m.do(t.Context(), request{Method: methodClaim, Stdin: true}, &call{stdin: strings.NewReader(`{"run":"A","lab":"l","names":["x"]}`)}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a guest is told to: %v", err)
	}
}

// After a lost connection, a lab claims its settings again first, and stops if another lab
// holds them.
func TestNewConnectionsClaimAgain(t *testing.T) {
	h := &host{}
	p := connected(t, h.server(), Client{})
	l := &Lasting{Up: func(context.Context) (*Machine, error) { return p.m, nil }}
	release, err := l.Claim(t.Context(), platform.Claim{Run: "A", Dir: "/a", Names: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.raw.Close()
	_ = p.end(t)
	other := connected(t, h.server(), Client{})
	done, err := other.m.Claim(t.Context(), platform.Claim{Run: "B", Dir: "/b", Names: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	p = connected(t, h.server(), Client{})
	if err := l.WriteFile(t.Context(), "/x", nil); !errors.Is(err, platform.ErrClaimed) {
		t.Errorf("it writes what another has claimed: %v", err)
	}
	done()
	if err := l.WriteFile(t.Context(), "/x", nil); err != nil || h.claimed["x"].Run != "A" {
		t.Errorf("it was not claimed again: %v, %v", h.claimed, err)
	}
	release()
	if len(h.claimed) > 0 {
		t.Errorf("after release: %v", h.claimed)
	}
}
