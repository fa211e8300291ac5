package lab

import (
	"testing"

	"plimsoll/internal/finding"
)

// What is to be known of one side is said of that side, and of both sides once.
func TestCautionsOfAComparison(t *testing.T) {
	at := func(label, caution string) side { return side{run: finding.Run{Label: label}, caution: caution} }
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
