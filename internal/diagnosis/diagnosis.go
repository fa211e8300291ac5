// Package diagnosis says what holds a host back: rules judge what was seen of it, and name
// one change each.
//
// A rule is a pure function of the evidence. It stays silent unless its mechanism is seen; one
// whose data are missing is not judged, and says which.
package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/quantity"
	"plimsoll/internal/sentence"
)

// Rule is a rule of diagnosis, a value in the list of package rule.
type Rule struct {
	Name, Doc string
	Area      Area
	// Needs lists sources of package hoststat without which the rule is not judged.
	Needs []string
	// Lacks reports what else is missing, such as "no limits of control groups"; nil is nothing.
	Lacks func(e *Evidence) string
	// Explains lists rules whose findings about the same subject, or about the whole host,
	// are consequences of this one's.
	Explains []string
	// Episodes says that intervals of a second are enough for Check: a condition that the mean
	// hides is found if it held in a fifth of them.
	Episodes bool
	// Check returns what the rule finds; nothing on a healthy host.
	Check func(e *Evidence) []Finding
}

// Area is the resource that a rule is about.
type Area string

// The areas, in order of cost of a check.
const (
	CPU            Area = "cpu"
	Memory         Area = "memory"
	Storage        Area = "storage"
	Network        Area = "network"
	Virtualisation Area = "virtualisation"
	Load           Area = "load" // the load and its clients
)

// Confidence is how sure a finding is.
type Confidence string

// The degrees of confidence.
const (
	Certain  Confidence = "certain"  // the kernel counted the mechanism itself
	Likely   Confidence = "likely"   // the evidence fits, and known look-alikes are excluded
	Possible Confidence = "possible" // the evidence fits, but a look-alike cannot be excluded
)

// Finding is what a rule found.
type Finding struct {
	Rule       string            `json:"rule"`
	Area       Area              `json:"area"`
	Subject    string            `json:"subject"` // program, device or group that it is about; empty for the host
	Says       string            `json:"says"`
	Numbers    []sentence.Number `json:"numbers,omitempty"` // in Says
	Template   string            `json:"-"`                 // of Says: {NAME} is the evidence of that name, {subject} the subject
	Confidence Confidence        `json:"confidence"`
	Impact     float64           `json:"impact"` // share of the subject's time or capacity that it costs, from 0 to 1
	Evidence   []Fact            `json:"evidence"`
	Change     *Change           `json:"change,omitempty"`
	Prediction *Prediction       `json:"prediction,omitempty"`
	Cause      string            `json:"cause,omitempty"` // rule of the finding that this one follows from
	Explains   []string          `json:"-"`               // rules whose findings are consequences of this one, beside those of its rule
}

// Sentence is what the finding says, with its numbers.
func (f *Finding) Sentence() sentence.Sentence {
	return sentence.Sentence{Text: f.Says, Numbers: f.Numbers}
}

// Fact is one number behind a finding.
type Fact struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // as in package quantity: "share", "1/s", "s", "B/s", "1"
}

// Share is a fact from 0 to 1 of a whole.
func Share(name string, value float64) Fact { return Fact{name, value, "share"} }

// Number is a count or a ratio.
func Number(name string, value float64) Fact { return Fact{name, value, "1"} }

// Rate is a fact per second.
func Rate(name string, value float64) Fact { return Fact{name, value, "1/s"} }

// Seconds is a duration.
func Seconds(name string, value float64) Fact { return Fact{name, value, "s"} }

// Bytes is an amount of data.
func Bytes(name string, value float64) Fact { return Fact{name, value, "B"} }

// ByteRate is data per second.
func ByteRate(name string, value float64) Fact { return Fact{name, value, "B/s"} }

// Change is the one change that a finding recommends.
type Change struct {
	Says    string `json:"says"`
	Command string `json:"command,omitempty"` // for a shell on the host
	Factor  string `json:"factor,omitempty"`  // of a study that can try it
	To      string `json:"to,omitempty"`      // level of the factor
}

// Prediction is the expected effect of the change on the subject, as shares: 0.27 is +27 %.
type Prediction struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Of    string  `json:"of"`    // such as "throughput" or "response time"
	Basis string  `json:"basis"` // how it was predicted
}

// Unjudged is a rule that could not be judged.
type Unjudged struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// Judge applies rules to evidence. Findings come in the order in which to act on them:
// causes before their consequences, then by confidence and by impact.
func Judge(e *Evidence, rules []Rule) (found []Finding, unjudged []Unjudged) {
	for _, r := range rules {
		if reason := lack(e, r); reason != "" {
			unjudged = append(unjudged, Unjudged{r.Name, reason})
			continue
		}
		all := r.Check(e)
		if len(all) == 0 && r.Episodes {
			all = episodes(e, r)
		}
		for _, f := range all {
			f.Rule, f.Area = r.Name, r.Area
			f.compose()
			found = append(found, f)
		}
	}
	explain(found, rules)
	rank := map[Confidence]int{Certain: 0, Likely: 1, Possible: 2}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(min(1, len(a.Cause)), min(1, len(b.Cause))),
			cmp.Compare(rank[a.Confidence], rank[b.Confidence]),
			cmp.Compare(b.Impact, a.Impact),
		)
	})
	return found, unjudged
}

// lack is what a rule is missing; empty if nothing.
func lack(e *Evidence, r Rule) string {
	for _, need := range r.Needs {
		if why, missing := e.Mean.Missing[need]; missing {
			return "no " + need + ": " + why
		}
	}
	if r.Lacks != nil {
		return r.Lacks(e)
	}
	return ""
}

// explain marks findings that are consequences of others with the cause that none explains.
func explain(found []Finding, rules []Rule) {
	by := make([]int, len(found)) // the finding that explains each; itself where none does
	for j := range by {
		by[j] = j
	}
	for i := range found {
		for j := range found {
			if by[j] == j && i != j && explains(rules, &found[i], &found[j]) && root(by, i) != j {
				by[j] = i
			}
		}
	}
	for j := range found {
		if i := root(by, j); i != j {
			found[j].Cause = found[i].Rule
		}
	}
}

// explains reports whether a finding is a consequence of the cause.
func explains(rules []Rule, cause, f *Finding) bool {
	if f.Subject != cause.Subject && f.Subject != "" && cause.Subject != "" {
		return false
	}
	return slices.Contains(cause.Explains, f.Rule) ||
		slices.ContainsFunc(rules, func(r Rule) bool { return r.Name == cause.Rule && slices.Contains(r.Explains, f.Rule) })
}

// root follows explanations to the finding that none explains.
func root(by []int, i int) int {
	for by[i] != i {
		i = by[i]
	}
	return i
}

// compose fills the evidence into the sentence: {NAME} is the evidence of that name, and
// {subject} the subject.
func (f *Finding) compose() {
	f.Template = f.Says
	s := sentence.Scene{
		Names:  map[string]string{"subject": f.Subject},
		Prefix: f.Rule,
		Number: func(id string) (sentence.Number, bool) {
			_, name, _ := strings.Cut(id, "/")
			for _, e := range f.Evidence {
				if e.Name == name {
					return sentence.Number{Text: quantity.Of(e.Value, e.Unit), Value: e.Value, Unit: e.Unit}, true
				}
			}
			return sentence.Number{}, false
		},
	}.Compose(f.Says)
	f.Says, f.Numbers = s.Text, s.Numbers
}
