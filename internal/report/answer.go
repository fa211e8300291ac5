package report

import (
	"fmt"
	"html/template"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// badge is a verdict as a word with its mark.
type badge struct {
	Word  string
	Class string
	Mark  template.HTMLAttr // path of the mark
}

func verdictBadge(v finding.Verdict) badge {
	look := verdictLook(string(v))
	word := string(v)
	if word != "" {
		word = strings.ToUpper(word[:1]) + word[1:]
	}
	return badge{word, look[0], template.HTMLAttr(`d="` + look[1] + `"`)}
}

func plainBadge(word, class string) badge {
	return badge{word, class, template.HTMLAttr(`d="` + shapes[0] + `"`)}
}

// first is the comparison that the sentence on top is about: the one of the first
// headline, where there is just one other arm.
func (s *sources) first() *finding.Comparison {
	var only *finding.Comparison
	for i := range s.Findings.Headlines {
		c := &s.Findings.Headlines[i]
		if c.Metric.Name != s.Findings.Headlines[0].Metric.Name {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

func (s *sources) badge() badge {
	if t := s.Findings.Tuning; t != nil {
		for _, r := range t.Rounds {
			if r.Outcome == finding.Kept {
				return plainBadge("Change verified and kept", "better")
			}
		}
		return plainBadge("Nothing changed", "open")
	}
	if c := s.first(); c != nil {
		return verdictBadge(c.Verdict)
	}
	if len(s.Findings.Headlines) > 0 {
		return plainBadge(fmt.Sprintf("%d arms compared", s.arms()), "different")
	}
	return plainBadge("Measured", "different")
}

// hero is the one number that the study is about, where it is decided.
type hero struct {
	Number, What string
	ID           string
	Value        string
	Class        string
}

func (s *sources) hero() *hero {
	f := s.Findings
	if f.Tuning != nil {
		for i := len(f.Tuning.Rounds) - 1; i >= 0; i-- {
			r := &f.Tuning.Rounds[i]
			if r.Outcome == finding.Kept && r.Verification != nil && r.Recommendation != nil {
				c := r.Recommendation.Change
				return &hero{change(r.Verification.Ratio), fmt.Sprintf("%s with %s %s instead of %s, on fresh blocks", r.Verification.Metric.Name, c.Factor, c.To, c.From),
					fmt.Sprintf("round:%d/change", i+1), exact(r.Verification.Ratio - 1), "better"}
			}
		}
		return nil
	}
	if c := s.first(); c != nil {
		if c.Verdict == finding.NotEnoughRuns || c.Counts != nil {
			return nil
		}
		return &hero{change(c.Ratio), fmt.Sprintf("%s with %s against %s", c.Metric.Name, s.brief(c.Arm), s.brief(0)),
			fmt.Sprintf("%s@%d/change", c.Metric.Name, c.Arm), exact(c.Ratio - 1), verdictLook(string(c.Verdict))[0]}
	}
	if names := s.headlines(); len(names) > 0 && s.arms() == 1 {
		if sum := s.sums[place{names[0], 0}]; sum != nil {
			return &hero{quantity(sum.Mean, (sum.High-sum.Low)/2, sum.Metric.Unit), names[0], names[0] + "@0/mean", exact(sum.Mean), "different"}
		}
	}
	return nil
}

// title is the question, else the name of the study.
func (s *sources) title() string {
	if s.Findings.Question != "" {
		return s.Findings.Question
	}
	return s.Findings.Study
}

// lead is the sentence on top: how the closed loop ended, else the verdict.
func (s *sources) lead() template.HTML { return s.leadPhrase().html() }

func (s *sources) leadPhrase() phrase {
	f := s.Findings
	if f.Tuning != nil && f.Tuning.Sentence != "" {
		return s.said(f.Tuning.Sentence, f.Tuning.Numbers)
	}
	return s.said(f.Sentence, f.Numbers)
}

// besides are the sentences of the other headlines.
func (s *sources) besides() []template.HTML {
	var all []template.HTML
	for _, p := range s.besidePhrases() {
		all = append(all, p.html())
	}
	return all
}

const mostSentences = 6

func (s *sources) besidePhrases() []phrase {
	f := s.Findings
	lead := s.leadPhrase().plain()
	var all []phrase
	if f.Tuning != nil && f.Sentence != "" && f.Sentence != f.Tuning.Sentence {
		all = append(all, s.said(f.Sentence, f.Numbers))
	}
	for i := range f.Headlines {
		c := &f.Headlines[i]
		p := s.said(c.Sentence, c.Numbers)
		if text := p.plain(); text == lead || text == typesetSentence(s, f) || len(all) >= mostSentences || s.first() == nil {
			continue
		}
		all = append(all, p)
	}
	return all
}

func typesetSentence(s *sources, f *finding.Findings) string {
	return s.said(f.Sentence, f.Numbers).plain()
}

// limitLine is a declared limit held against an arm.
type limitLine struct {
	Limit, Arm, Value, State string
}

func (s *sources) limits() []limitLine {
	var all []limitLine
	for _, l := range s.Findings.Limits {
		metric := strings.Fields(strings.NewReplacer("<", " ", ">", " ", "=", " ").Replace(l.Limit))
		unit := ""
		for _, name := range metric {
			if m, ok := s.metrics[name]; ok {
				unit = m.Unit
			}
		}
		value := quantity(l.Value, 0, unit)
		if l.State == measure.Unknown {
			value = "not measured"
		}
		all = append(all, limitLine{s.limitText(l.Limit), s.brief(l.Arm), value, map[measure.State]string{measure.Pass: "kept", measure.Fail: "missed"}[l.State]})
	}
	for i := range all {
		if all[i].State == "" {
			all[i].State = "unknown"
		}
	}
	return all
}

// limitText writes a limit in units for people, where the study declares it.
func (s *sources) limitText(limit string) string {
	if s.Study == nil {
		return limit
	}
	for _, l := range s.Study.Limits {
		if strings.Contains(" "+limit+" ", " "+l.Metric+" ") {
			return s.limit(l)
		}
	}
	return limit
}

// reason is an explanation on the page.
type reason struct {
	Rule     string
	Arm      string
	Grade    string
	Sentence template.HTML
	Evidence []line
	Change   string
	Gain     string
}

func (s *sources) reasons() []reason {
	var all []reason
	for i := range s.Findings.Explanations {
		e := &s.Findings.Explanations[i]
		r := reason{Rule: spaced(e.Rule), Arm: s.brief(e.Arm), Grade: string(e.Grade), Sentence: s.said(e.Sentence, e.Numbers).html()}
		for _, x := range e.Evidence {
			r.Evidence = append(r.Evidence, line{x.Name, quantity(x.Value, 0, x.Unit)})
		}
		if e.Change != nil {
			r.Change = fmt.Sprintf("%s: %s → %s", e.Change.Factor, e.Change.From, e.Change.To)
		}
		r.Gain = expected(e.Gain)
		all = append(all, r)
	}
	return all
}

func expected(g *finding.Gain) string {
	if g == nil {
		return ""
	}
	text := "between " + change(1+g.Low) + " and " + change(1+g.High)
	if g.Basis != "" {
		text += ", " + g.Basis
	}
	return text
}

// spaced is the name of a rule as words.
func spaced(rule string) string {
	words := strings.Split(rule, "_")
	for i, w := range words {
		if proper, ok := map[string]string{"io": "I/O", "cpu": "CPU"}[w]; ok {
			words[i] = proper
		}
	}
	return strings.Join(words, " ")
}

// advice is the one change that the analysis names.
type advice struct {
	Sentence          template.HTML
	Factor, From, To  string
	Predicted         string
	Untried           bool
	Rule              string
	VerifyingCommand  string
	RestsOn           string
	StoryHasBeenTried bool
}

func (s *sources) advice() *advice {
	r := s.Findings.Recommendation
	if r == nil {
		return nil
	}
	return &advice{
		Sentence: s.said(r.Sentence, r.Numbers).html(), Factor: r.Change.Factor, From: r.Change.From, To: r.Change.To,
		Predicted: expected(r.Predicted), Rule: spaced(r.Rule), RestsOn: s.label(r.Arm), StoryHasBeenTried: s.Findings.Tuning != nil,
	}
}

// story is the closed loop on the page.
type story struct {
	Goal     string
	Sentence template.HTML
	Rounds   []round
	Final    []line
}

// Upper begins a phrase like a sentence. It is exported for the template.
func (*story) Upper(phrase string) string {
	if phrase == "" {
		return ""
	}
	return strings.ToUpper(phrase[:1]) + strings.TrimSuffix(phrase[1:], ".")
}

// round is one turn of it.
type round struct {
	Number                  int
	Metric                  string
	Measured, MeasuredSeed  string
	Rule                    string
	Explained               template.HTML
	Factor, From, To        string
	Predicted               string
	Verified, Seed          string
	Change, Between, Blocks string
	Values                  string // before and after, where this page has them
	Bound                   string
	Outcome                 string
	Kept                    bool
	Reason                  string
	Guards                  []template.HTML
}

func (s *sources) story() *story {
	t := s.Findings.Tuning
	if t == nil {
		return nil
	}
	out := &story{Goal: t.Goal, Sentence: s.said(t.Sentence, t.Numbers).html()}
	for _, factor := range sortedKeys(t.Final) {
		out.Final = append(out.Final, line{factor, t.Final[factor]})
	}
	for i := range t.Rounds {
		out.Rounds = append(out.Rounds, s.round(i))
	}
	return out
}

// beforeAfter is what was carried before and after a change. The page holds the
// means of the last verification only.
func (s *sources) beforeAfter(i int) string {
	rounds := s.Findings.Tuning.Rounds
	for _, later := range rounds[i+1:] {
		if later.Verification != nil {
			return ""
		}
	}
	c := rounds[i].Verification
	before, after := s.sums[place{c.Metric.Name, 0}], s.sums[place{c.Metric.Name, c.Arm}]
	if before == nil || after == nil || c.Arm == 0 {
		return ""
	}
	return quantity(before.Mean, (before.High-before.Low)/2, c.Metric.Unit) + " → " + quantity(after.Mean, (after.High-after.Low)/2, c.Metric.Unit)
}

func (s *sources) round(i int) round {
	r := &s.Findings.Tuning.Rounds[i]
	v := round{
		Number: i + 1, Measured: r.Measured, Verified: r.Verified, Outcome: string(r.Outcome), Kept: r.Outcome == finding.Kept, Reason: r.Reason,
		MeasuredSeed: fmt.Sprint(r.MeasuredSeed), Seed: fmt.Sprint(r.Seed),
	}
	if s.Study != nil && s.Study.Goal != nil {
		v.Metric = s.Study.Goal.Metric
	}
	if rec := r.Recommendation; rec != nil {
		v.Rule, v.Explained = spaced(rec.Rule), s.said(rec.Sentence, rec.Numbers).html()
		v.Factor, v.From, v.To = rec.Change.Factor, rec.Change.From, rec.Change.To
		v.Predicted = expected(rec.Predicted)
	}
	if c := r.Verification; c != nil {
		v.Values = s.beforeAfter(i)
		v.Metric = c.Metric.Name
		v.Change, v.Blocks = change(c.Ratio), plural(c.Blocks, "fresh block", "fresh blocks")
		if !c.NoInterval {
			v.Between = change(c.Low) + " to " + change(c.High)
		}
		if r.BoundLevel > 0 {
			v.Bound = change(1+r.Bound) + " at " + finding.Share(r.BoundLevel) + " confidence"
		}
	}
	for k := range r.Guards {
		v.Guards = append(v.Guards, s.said(r.Guards[k].Sentence, r.Guards[k].Numbers).html())
	}
	return v
}

// ledger is the certificate on the page.
type ledger struct {
	Passed, Failed, Unknown int
	Checks                  []checkLine
	Voids                   []voidLine
	MoreVoids               string
	Records                 bool
}

type checkLine struct {
	Name, State, Detail string
}

type voidLine struct {
	Trial, Block int
	Arm, Cause   string
	Stderr       string
}

const (
	mostVoids  = 24
	mostStderr = 4000 // bytes
)

// ledger lists what failed first, then what is unknown, then what passed.
func (s *sources) ledger() ledger {
	l := ledger{Records: len(s.records) > 0}
	for _, state := range []measure.State{measure.Fail, measure.Unknown, measure.Pass} {
		for _, c := range s.Findings.Certificate {
			if c.State != state {
				continue
			}
			l.Checks = append(l.Checks, checkLine{c.Name, string(state), c.Detail})
			switch state {
			case measure.Fail:
				l.Failed++
			case measure.Unknown:
				l.Unknown++
			default:
				l.Passed++
			}
		}
	}
	for _, v := range s.Findings.Void {
		if len(l.Voids) == mostVoids {
			l.MoreVoids = fmt.Sprintf("%s more are in the results folder.", count(len(s.Findings.Void)-mostVoids))
			break
		}
		line := voidLine{Trial: v.Trial, Arm: s.brief(v.Arm), Cause: v.Cause}
		for i := range s.records {
			if r := &s.records[i]; r.Trial == v.Trial && r.Arm == v.Arm {
				line.Block, line.Stderr = r.Block, clip(r.Stderr)
			}
		}
		l.Voids = append(l.Voids, line)
	}
	return l
}

// clip keeps the end of what a program printed, where its reason stands.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	if len(s) > mostStderr {
		s = "… " + strings.ToValidUTF8(s[len(s)-mostStderr:], "")
	}
	return s
}

// noiseFloor is what the certificate says about the noise of the testbed.
func (s *sources) noiseFloor() string {
	for _, c := range s.Findings.Certificate {
		if c.Name == "noise floor" {
			return c.Detail
		}
	}
	return ""
}

// claim is a sentence that the audit recomputed.
type claim struct {
	Sentence, Computed, Fault string
	Holds                     bool
}

// claims lists what does not hold first.
func (s *sources) claims() (all []claim, faults int) {
	for _, holds := range []bool{false, true} {
		for _, c := range s.Findings.Audit {
			if c.Holds == holds {
				all = append(all, claim{c.Sentence, c.Computed, c.Fault, c.Holds})
			}
		}
		if !holds {
			faults = len(all)
		}
	}
	return all, faults
}
