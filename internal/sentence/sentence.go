// Package sentence holds sentences as spans: text, and numbers that carry the name,
// the value and the unit of what they state.
package sentence

import (
	"slices"
	"strings"
)

// Sentence is a text and the numbers in it, in order.
type Sentence struct {
	Text    string   `json:"sentence"`
	Numbers []Number `json:"numbers,omitempty"`
}

// Number is a number in a sentence and where it is from. Every digit of our own
// sentences belongs to a number or to a name; the audit looks each of them up.
type Number struct {
	ID    string  `json:"id"`              // "iops@1/change"
	Text  string  `json:"text"`            // as it stands in the sentence
	At    int     `json:"at,omitempty"`    // of the sentence, the byte at which Text begins
	Value float64 `json:"value,omitempty"` // in Unit
	Unit  string  `json:"unit,omitempty"`  // base unit; "share" of a part, "change" of a ratio less 1; empty for a setting, which has no value
}

// Span is a part of a sentence.
type Span struct {
	Text   string
	Number *Number // nil for text
}

// Spans cuts the sentence at its numbers. One that does not stand where it should,
// as in a sentence of an earlier version, stays text.
func (s Sentence) Spans() []Span {
	var all []Span
	at := 0
	for i := range s.Numbers {
		n := &s.Numbers[i]
		if n.At < at || n.Text == "" || !s.holds(n) {
			continue
		}
		if n.At > at {
			all = append(all, Span{Text: s.Text[at:n.At]})
		}
		all = append(all, Span{Text: n.Text, Number: n})
		at = n.At + len(n.Text)
	}
	if at < len(s.Text) {
		all = append(all, Span{Text: s.Text[at:]})
	}
	return all
}

// holds reports whether a number stands in the sentence at its place.
func (s Sentence) holds(n *Number) bool {
	return n.At >= 0 && n.At <= len(s.Text) && strings.HasPrefix(s.Text[n.At:], n.Text)
}

// Located is a sentence that was stored before numbers had places and units, with the
// places found in its text.
func (s Sentence) Located() Sentence {
	if slices.ContainsFunc(s.Numbers, func(n Number) bool { return n.At > 0 || n.Unit != "" }) {
		return s
	}
	located, at := Sentence{Text: s.Text}, 0
	for _, n := range s.Numbers {
		if found := strings.Index(s.Text[at:], n.Text); found >= 0 {
			n.At = at + found
			at = n.At + len(n.Text)
			located.Numbers = append(located.Numbers, n)
		}
	}
	return located
}

// Then is the sentence with another behind it.
func (s Sentence) Then(next Sentence) Sentence {
	if s.Text == "" {
		return next
	}
	joined := Sentence{Text: s.Text + " " + next.Text, Numbers: append([]Number(nil), s.Numbers...)}
	for _, n := range next.Numbers {
		n.At += len(s.Text) + 1
		joined.Numbers = append(joined.Numbers, n)
	}
	return joined
}

// Scene is what a sentence may state.
type Scene struct {
	Names  map[string]string              // text by key: "arm", "baseline", "metric"
	Prefix string                         // of the names of numbers without one: "iops@1"
	Number func(id string) (Number, bool) // number by its name
}

// Compose fills in a template. {key} is a name of the scene, and {field} or
// {prefix/field} a number. One that is not known leaves a "?", which the audit refuses.
func (s Scene) Compose(template string) Sentence {
	var b strings.Builder
	var numbers []Number
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return Sentence{b.String(), numbers}
		}
		key, after, _ := strings.Cut(rest, "}")
		template = after
		if name, ok := s.Names[key]; ok {
			b.WriteString(name)
			continue
		}
		id := key
		if !strings.Contains(key, "/") {
			id = s.Prefix + "/" + key
		}
		n, ok := s.Number(id)
		if !ok {
			b.WriteString("?")
			continue
		}
		n.ID, n.At = id, b.Len()
		numbers = append(numbers, n)
		b.WriteString(n.Text)
	}
}
