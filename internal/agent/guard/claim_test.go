package guard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/platform"
)

// pairs is a machine with two settings of which the kernel sets one to 0 when the other is written, and takes no 0 for the first.
type pairs struct {
	*fake
	claim platform.Claim
	freed int
}

const bytesOf, ratioOf = "/proc/sys/vm/dirty_bytes", "/proc/sys/vm/dirty_ratio"

func (p *pairs) WriteFile(ctx context.Context, name string, data []byte) error {
	switch {
	case name == bytesOf && string(data) == "0":
		return errors.New("invalid argument")
	case name == bytesOf:
		p.files[ratioOf] = "0\n"
	case name == ratioOf:
		p.files[bytesOf] = "0\n"
	}
	return p.fake.WriteFile(ctx, name, append(data, '\n'))
}

func (p *pairs) Claim(_ context.Context, c platform.Claim) (release func(), err error) {
	p.claim = c
	return func() { p.freed++ }, nil
}

// Settings that change along with a claimed one are restored with it, whichever of them the
// host had set.
func TestClaimedSettingsArePutBack(t *testing.T) {
	for _, former := range []map[string]string{{bytesOf: "104857600\n", ratioOf: "0\n"}, {bytesOf: "0\n", ratioOf: "20\n"}} {
		for _, set := range []string{bytesOf, ratioOf} {
			p := &pairs{fake: &fake{files: map[string]string{bytesOf: former[bytesOf], ratioOf: former[ratioOf]}}}
			memory := filepath.Join(t.TempDir(), "changed.json")
			w, err := New(t.Context(), p, Rules{Scratch: "/scratch", Memory: memory})
			if err != nil {
				t.Fatal(err)
			}
			release, err := w.Claim(t.Context(), platform.Claim{Run: "A", Log: "/of/the/lab", Names: []string{bytesOf, ratioOf, "/proc/sys/net/x", "qdisc eth0"}})
			if err != nil || p.claim.Log != memory {
				t.Fatalf("%+v, %v", p.claim, err)
			}
			if err := w.WriteFile(t.Context(), set, []byte("7")); err != nil {
				t.Fatal(err)
			}
			// The agent is killed here, and another one takes over.
			if _, err := New(t.Context(), p, Rules{Scratch: "/scratch", Memory: memory}); err != nil {
				t.Fatal(err)
			}
			if p.files[bytesOf] != former[bytesOf] || p.files[ratioOf] != former[ratioOf] {
				t.Errorf("after a write of %s they are %v, and were %v", set, p.files, former)
			}
			if _, err := os.Stat(memory); err == nil {
				t.Error("something is still remembered")
			}
			if release(); p.freed != 1 {
				t.Errorf("released %d times", p.freed)
			}
		}
	}
}

func TestClaims(t *testing.T) {
	for name, leave := range map[string]struct{ always, commands bool }{
		"/proc/sys/vm/swappiness": {true, true}, "/sys/block/sda/queue/scheduler": {true, true}, "ethtool -c eth0": {true, true},
		"/proc/sys/kernel/core_pattern": {false, true}, "/proc/sys/vm/../kernel/core_pattern": {false, true},
		"/etc/shadow": {false, false}, "/sys/../etc/shadow": {false, false},
	} {
		for _, commands := range []bool{false, true} {
			w := guard(t, &fake{}, Rules{Commands: commands})
			w.Whole = &pairs{fake: &fake{}}
			_, err := w.Claim(t.Context(), platform.Claim{Run: "A", Names: []string{name}})
			if want := leave.always || commands && leave.commands; (err == nil) != want || err != nil && !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%s, commands %v: %v", name, commands, err)
			}
		}
	}
	if _, err := guard(t, &fake{}, Rules{}).Claim(t.Context(), platform.Claim{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a machine without claims: %v", err)
	}
}
