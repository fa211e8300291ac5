package lab

import (
	"strings"
	"testing"

	"plimsoll/internal/finding/compare"
)

// What is to be known of one side is said of that side, and of both sides once.
func TestCautionsOfAComparison(t *testing.T) {
	at := func(label, caution string) side { return side{run: compare.Run{Label: label}, caution: caution} }
	for _, c := range []struct {
		a, b side
		want string
	}{
		{at("native", ""), at("guest", ""), ""},
		{at("native", ""), at("guest", "no KVM"), "in guest: no KVM"},
		{at("spread", "no KVM"), at("auto", "no KVM"), "no KVM"},
		{at("before", "no KVM"), at("after", "virtual time"), "in before: no KVM; in after: virtual time"},
	} {
		if got := cautionOf(c.a, c.b); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Two runs whose settings differ are compared with all that differs said, defaults included; two
// that differ in nothing, silently.
func TestWhatTwoRunsDifferIn(t *testing.T) {
	t.Parallel()
	l := &Lab{Catalog: few(), Version: "test"}
	plain := ran(t, "tutorial-aa", 3, "measure.blocks=1")
	again := ran(t, "tutorial-aa", 4, "measure.blocks=1")
	other := ran(t, "tutorial-aa", 3, "measure.blocks=1", "null.threads=3")
	for _, c := range []struct{ a, b, want string }{
		{plain.Dir, again.Dir, ""},
		{plain.Dir, other.Dir, "the two differ in null.threads ("},
	} {
		compared, err := l.ComparePair(c.a, c.b, []string{"sim.knob=off"})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, f := range compared[0].Input.Testbed {
			said += f.Value
		}
		if !strings.Contains(said, c.want) || c.want == "" && strings.Contains(said, "differ") {
			t.Errorf("said %q, want %q", said, c.want)
		}
	}
}
