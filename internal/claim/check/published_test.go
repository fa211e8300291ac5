package check

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/number"
)

// Of claims that were labelled before the audit saw them no true one is accused, no false
// one of public texts holds, none is dropped, and the stated share of the false ones is
// found.
func TestPublishedClaims(t *testing.T) {
	for file, least := range map[string]float64{"published.txt": 0.85, "public.txt": 0.65} {
		trues, held, falses, found := 0, 0, 0, 0
		for _, v := range vectors(t, file) {
			label, text, _ := strings.Cut(v, "\t")
			claims := Text(text)
			for _, missing := range dropped(text, claims) {
				t.Errorf("%s: dropped: %s", file, missing)
			}
			n := claim.Count(claims)
			switch {
			case label == "t" && n.DoesNotHold > 0:
				t.Errorf("%s: true, but accused: %s\n%s", file, text, show(claims))
			case label == "t":
				trues++
				if n.Holds > 0 {
					held++
				}
			case n.DoesNotHold > 0:
				falses, found = falses+1, found+1
			default:
				falses++
				if n.Holds > 0 && file == "public.txt" {
					t.Errorf("%s: false, but holds: %s\n%s", file, text, show(claims))
				}
			}
		}
		t.Logf("%s: %d true, of which %d hold; %d of %d false ones found", file, trues, held, found, falses)
		if float64(found) < least*float64(falses) {
			t.Errorf("%s: %d of %d false claims are found", file, found, falses)
		}
	}
}

// dropped are the sentences and rows with a number of which no claim is listed.
func dropped(text string, claims []claim.Claim) []string {
	var all []string
	look := func(part string) {
		if number.HasDigit(part) && !slices.ContainsFunc(claims, func(c claim.Claim) bool { return c.Text == part }) {
			all = append(all, part)
		}
	}
	for _, b := range document.Split(text).Blocks {
		for _, s := range b.Sentences {
			look(s.Text)
		}
		for i, r := range b.Rows {
			if i > 0 || !headed(r.Cells) {
				look(strings.Join(r.Cells, " | "))
			}
		}
	}
	return all
}
