package causes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// answer is what plimsoll check --json prints, as far as it matters here.
type answer struct {
	Format   int
	Findings []finding
}

type finding struct {
	Rule, Subject, Says string
	Evidence            []struct{ Name string }
	Change              struct{ Says, Command string }
}

// parse reads the output of plimsoll check --json.
func parse(printed []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(printed, &a); err != nil {
		return a, fmt.Errorf("read what plimsoll check printed: %w", err)
	}
	if a.Format != 1 {
		return a, fmt.Errorf("plimsoll check printed format %d, not 1", a.Format)
	}
	return a, nil
}

// outcome is what became of one run of a cause.
type outcome struct {
	Cause   string   `json:"cause"`
	Run     int      `json:"run"`
	Seed    uint64   `json:"seed"`
	Without float64  `json:"without"` // the metric
	With    float64  `json:"with"`
	Worse   float64  `json:"worse"` // factor
	Found   []string `json:"found"` // rules, in order
	Says    string   `json:"says,omitempty"`
	First   bool     `json:"first"`  // named first, and no other where no other may be
	Change  bool     `json:"change"` // the right one
	Void    string   `json:"void,omitempty"`
}

// judge says whether an answer is the right one for a cause.
func (c cause) judge(a answer, o *outcome) {
	o.Found = []string{}
	for _, f := range a.Findings {
		o.Found = append(o.Found, f.Rule)
	}
	if len(a.Findings) > 0 {
		f := a.Findings[0]
		o.Says = fmt.Sprintf("%s: %s -> %s [%s]", f.Subject, f.Says, f.Change.Says, f.Change.Command)
	}
	if len(c.rules) == 0 {
		o.First = len(a.Findings) == 0
		o.Change = o.First
		return
	}
	if len(a.Findings) == 0 {
		return
	}
	first := a.Findings[0]
	o.First = slices.Contains(c.rules, first.Rule) && among(c.names, first.Subject+" "+first.Says)
	if c.only {
		o.First = o.First && !slices.ContainsFunc(a.Findings, func(f finding) bool { return !slices.Contains(c.rules, f.Rule) })
	}
	o.Change = o.First && among(c.change, first.Change.Says+" "+first.Change.Command)
}

// among says whether a text holds one of the words, if there are any.
func among(words []string, text string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}
