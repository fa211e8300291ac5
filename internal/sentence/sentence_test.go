package sentence

import (
	"strings"
	"testing"
)

func scene() Scene {
	return Scene{Names: map[string]string{"arm": "threads=2"}, Prefix: "iops@1", Number: func(id string) (Number, bool) {
		n, ok := map[string]Number{"iops@1/change": {Text: "+2 %", Value: .02, Unit: "change"}, "study/margin": {Text: "2 %", Value: .02, Unit: "share"}}[id]
		return n, ok
	}}
}

// shown writes the numbers of a sentence in brackets.
func shown(s Sentence) string {
	var b strings.Builder
	for _, x := range s.Spans() {
		if x.Number != nil {
			b.WriteString("[" + x.Number.ID + " " + x.Text + "]")
		} else {
			b.WriteString(x.Text)
		}
	}
	return b.String()
}

// A number is found by its place, not by its digits, which a name before it may hold.
func TestSpans(t *testing.T) {
	s := scene().Compose("{change} with {arm}, beyond {study/margin}.")
	if s.Text != "+2 % with threads=2, beyond 2 %." {
		t.Error(s.Text)
	}
	want := "[iops@1/change +2 %] with threads=2, beyond [study/margin 2 %]."
	if got := shown(s); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	twice := s.Then(s)
	if got := shown(twice); got != want+" "+want {
		t.Errorf("joined: %q", got)
	}
	if got := shown(Sentence{}.Then(s)); got != want {
		t.Errorf("joined to nothing: %q", got)
	}
}

func TestUnknownNumberLeavesAHole(t *testing.T) {
	if s := scene().Compose("{least} blocks"); s.Text != "? blocks" || len(s.Numbers) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestMisplacedNumberStaysText(t *testing.T) {
	for _, at := range []int{-1, 0, 3, 99} {
		s := Sentence{Text: "+2 % faster", Numbers: []Number{{ID: "x", Text: "+3 %", At: at}}}
		if got := shown(s); got != s.Text {
			t.Errorf("at %d: %q", at, got)
		}
	}
}

// Results of earlier versions hold numbers without places.
func TestLocated(t *testing.T) {
	old := Sentence{Text: "threads=2 is +3 % (9 blocks)", Numbers: []Number{{ID: "x/change", Text: "+3 %"}, {ID: "x/blocks", Text: "9"}, {ID: "x/gone", Text: "7"}}}
	if got, want := shown(old.Located()), "threads=2 is [x/change +3 %] ([x/blocks 9] blocks)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if s := scene().Compose("{change}"); shown(s.Located()) != shown(s) {
		t.Error("a sentence with places was changed")
	}
}
