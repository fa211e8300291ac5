package claim

import (
	"strings"
	"testing"
)

// Of claims that were labelled before the audit saw them no true one is accused, none is
// dropped, and of the false ones at least 85 % are found.
func TestPublishedClaims(t *testing.T) {
	trues, falses, found := 0, 0, 0
	for _, v := range vectors(t, "published.txt") {
		label, text, _ := strings.Cut(v, "\t")
		claims := Text(text)
		n := Count(claims)
		if len(claims) == 0 {
			t.Errorf("dropped: %s", text)
		}
		switch {
		case label == "t" && n.DoesNotHold > 0:
			t.Errorf("true, but accused: %s\n%s", text, show(claims))
		case label == "t":
			trues++
		case n.DoesNotHold > 0:
			falses, found = falses+1, found+1
		default:
			falses++
			t.Logf("false, not found: %s", text)
		}
	}
	t.Logf("%d true, %d of %d false ones found", trues, found, falses)
	if 100*found < 85*falses {
		t.Errorf("%d of %d false claims are found", found, falses)
	}
}
