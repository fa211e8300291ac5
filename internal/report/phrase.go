package report

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/finding"
	"plimsoll/internal/stat"
)

// piece is a part of a sentence: words, or a number with the name of where it is
// from.
type piece struct {
	text  string
	id    string // of a number; empty for words
	value string // of a number as stored, in base units; empty where it is a name
}

// phrase is a sentence in pieces.
type phrase []piece

// plain is the sentence as text.
func (p phrase) plain() string {
	var b strings.Builder
	for _, x := range p {
		b.WriteString(x.text)
	}
	return b.String()
}

// html is the sentence with each number in a <data> element.
func (p phrase) html() template.HTML {
	var b strings.Builder
	for _, x := range p {
		if x.id == "" {
			b.WriteString(escapeHTML(x.text))
			continue
		}
		fmt.Fprintf(&b, `<data value="%s" data-id="%s">%s</data>`, escapeHTML(x.value), escapeHTML(x.id), escapeHTML(x.text))
	}
	return template.HTML(b.String()) // every part is escaped above
}

// said cuts a sentence of the findings at its numbers.
func (s *sources) said(sentence string, numbers []finding.Number) phrase {
	var p phrase
	for _, n := range numbers {
		at := find(sentence, n.Text)
		if at < 0 || n.Text == "" {
			continue
		}
		p = append(p, piece{text: sentence[:at]}, s.numberOf(n))
		sentence = sentence[at+len(n.Text):]
	}
	return append(p, piece{text: sentence})
}

// numberOf is a number of a sentence, with as many digits as its interval bears, here
// as in figures and tables. A number that the findings do not have under its name,
// because the sentence is from an earlier run, stays as it was written.
func (s *sources) numberOf(n finding.Number) piece {
	as := piece{text: typeset(n.Text), id: n.ID, value: n.Text}
	v, ok := s.value(n.ID)
	if !ok {
		return as
	}
	sum, c := s.summaryOf(n.ID), s.comparisonOf(n.ID)
	scale, ofScale := s.scaleNumber(n)
	switch {
	case ofScale:
		as.text = scale
	case sum != nil && (n.Text == finding.Quantity(v, sum.Metric.Unit) || n.Text == finding.Measured(v, sum.Low, sum.High, sum.Metric.Unit)):
		as.text = quantity(v, (sum.High-sum.Low)/2, sum.Metric.Unit)
	case c != nil && (n.Text == finding.Percent(v) || n.Text == finding.PercentWithin(1+v, c.Low, c.High)):
		as.text = within(1+v, c.Low, c.High)
	case sum != nil || c != nil || strings.HasPrefix(n.ID, "gain:") && n.Text != finding.Percent(v):
		return as
	}
	as.value = exact(v)
	return as
}

// saidOf is the sentence of a comparison that may be from an earlier run than the
// findings: its numbers are its own. The names get the given prefix.
func (s *sources) saidOf(c *finding.Comparison, prefix string) phrase {
	own := &sources{Input: Input{Findings: &finding.Findings{Headlines: []finding.Comparison{*c}, Margin: s.Findings.Margin, Level: s.Findings.Level}}}
	p := own.said(c.Sentence, c.Numbers)
	for i := range p {
		if p[i].id != "" {
			p[i].id = prefix + p[i].id
		}
	}
	return p
}

// find is where a number stands in a sentence: first where it stands alone, since
// its digits may be part of a name before it.
func find(sentence, number string) int {
	for from := 0; ; {
		i := strings.Index(sentence[from:], number)
		if i < 0 {
			break
		}
		at, end := from+i, from+i+len(number)
		before, after := ' ', ' '
		if at > 0 {
			before = rune(sentence[at-1])
		}
		if end < len(sentence) {
			after = rune(sentence[end])
		}
		partOfName := unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("=.-_,", before)
		if !partOfName && !unicode.IsLetter(after) && !unicode.IsDigit(after) {
			return at
		}
		from = at + 1
	}
	return strings.Index(sentence, number)
}

// say makes a sentence of our own: {id} stands for a number, and "?" for one that
// the study does not have.
func (s *sources) say(template string) phrase {
	var p phrase
	for template != "" {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		end := open + strings.IndexByte(template[open:], '}')
		id := template[open+1 : end]
		p = append(p, piece{text: template[:open]})
		v, ok := s.value(id)
		switch {
		case !ok:
			p = append(p, piece{text: "?"})
		default:
			p = append(p, piece{text: s.shown(id, v), id: id, value: exact(v)})
		}
		template = template[end+1:]
	}
	return append(p, piece{text: template})
}

// value looks a number up by its name; the names are those of package finding,
// and more below study/.
func (s *sources) value(id string) (float64, bool) {
	cut := strings.LastIndexByte(id, '/')
	if cut < 0 {
		return 0, false
	}
	what, field := id[:cut], id[cut+1:]
	switch {
	case what == "study":
		return s.studyValue(field)
	case strings.HasPrefix(what, "round:"):
		return s.roundValue(what[len("round:"):], field)
	case strings.HasPrefix(what, "peak:"):
		for i := range s.Findings.Peaks {
			if p := &s.Findings.Peaks[i]; strconv.Itoa(p.Arm) == what[len("peak:"):] {
				return p.Value(field)
			}
		}
		return 0, false
	case strings.HasPrefix(what, "scale:"):
		k, ok := s.Findings.ScaleOut.Value(what[len("scale:"):], field)
		return k.Value, ok
	case strings.HasPrefix(what, "rule:"):
		return s.ruleValue(what[len("rule:"):], field)
	case strings.HasPrefix(what, "gain:"):
		if e := s.explanation(what[len("gain:"):]); e != nil && e.Gain != nil {
			return map[string]float64{"low": e.Gain.Low, "high": e.Gain.High}[field], true
		}
		return 0, false
	}
	metric, number, _ := strings.Cut(what, "@")
	arm, err := strconv.Atoi(number)
	if err != nil {
		return 0, false
	}
	if v, ok := s.summaryValue(place{metric, arm}, field); ok {
		return v, true
	}
	if c := s.comparison(place{metric, arm}); c != nil {
		return comparisonValue(c, field)
	}
	return 0, false
}

// comparison is that of a metric of an arm; headlines come first.
func (s *sources) comparison(at place) *finding.Comparison {
	for _, list := range [][]finding.Comparison{s.Findings.Headlines, s.Findings.Exploratory} {
		for i := range list {
			if list[i].Metric.Name == at.metric && list[i].Arm == at.arm {
				return &list[i]
			}
		}
	}
	return nil
}

// comparisonOf is the comparison of which a number is the change, an end of its
// interval or the bound.
func (s *sources) comparisonOf(id string) *finding.Comparison {
	cut := strings.LastIndexByte(id, '/')
	if field := id[cut+1:]; field != "change" && field != "low" && field != "high" && field != "bound" {
		return nil
	}
	if number, found := strings.CutPrefix(id[:cut], "round:"); found {
		if n, err := strconv.Atoi(number); err == nil && s.Findings.Tuning != nil && n >= 1 && n <= len(s.Findings.Tuning.Rounds) {
			return s.Findings.Tuning.Rounds[n-1].Verification
		}
		return nil
	}
	metric, number, _ := strings.Cut(id[:cut], "@")
	if arm, err := strconv.Atoi(number); err == nil && !strings.HasSuffix(id, "/bound") {
		return s.comparison(place{metric, arm})
	}
	return nil
}

// summaryOf is the summary of which a number is the mean or an end of the interval.
func (s *sources) summaryOf(id string) *finding.Summary {
	cut := strings.LastIndexByte(id, '/')
	what, field := id[:max(cut, 0)], id[cut+1:]
	metric, number, found := strings.Cut(what, "@")
	arm, err := strconv.Atoi(number)
	if !found || err != nil || field != "mean" && field != "from" && field != "to" {
		return nil
	}
	return s.sums[place{metric, arm}]
}

func (s *sources) summaryValue(at place, field string) (float64, bool) {
	sum := s.sums[at]
	if sum == nil {
		return 0, false
	}
	v, ok := map[string]float64{"mean": sum.Mean, "from": sum.Low, "to": sum.High, "trials": float64(sum.Trials)}[field]
	return v, ok
}

func comparisonValue(c *finding.Comparison, field string) (float64, bool) {
	fields := map[string]float64{
		"change": c.Ratio - 1, "low": c.Low - 1, "high": c.High - 1, "blocks": float64(c.Blocks), "more": float64(c.More),
		"level": c.Level, "least": float64(c.Least),
	}
	if c.Reach != nil {
		fields["reach"], fields["reach blocks"] = c.Reach.Margin, float64(c.Reach.Blocks)
	}
	if n := c.Counts; n != nil {
		fields["failed"], fields["of"], fields["bound"] = float64(n.Failed), float64(n.Operations), stat.ZeroFailuresBound(n.Operations)
		fields["base.failed"], fields["base.of"] = float64(n.BaselineFailed), float64(n.BaselineOperations)
		fields["base.bound"] = stat.ZeroFailuresBound(n.BaselineOperations)
	}
	v, ok := fields[field]
	return v, ok
}

// roundValue is a number of a round of tuning, which count from 1.
func (s *sources) roundValue(number, field string) (float64, bool) {
	n, err := strconv.Atoi(number)
	if t := s.Findings.Tuning; err == nil && t != nil && n >= 1 && n <= len(t.Rounds) {
		switch r := &t.Rounds[n-1]; {
		case r.Verification == nil:
			return 0, false
		case field == "bound":
			return r.BoundRatio() - 1, true
		case field == "level":
			return r.BoundLevel, true
		default:
			return comparisonValue(r.Verification, field)
		}
	}
	return 0, false
}

func (s *sources) explanation(at string) *finding.Explanation {
	for i := range s.Findings.Explanations {
		e := &s.Findings.Explanations[i]
		if e.Rule+"@"+strconv.Itoa(e.Arm) == at {
			return e
		}
	}
	return nil
}

func (s *sources) ruleValue(at, field string) (float64, bool) {
	e := s.explanation(at)
	if e == nil {
		return 0, false
	}
	for _, x := range e.Evidence {
		if x.Name == field {
			return x.Value, true
		}
	}
	return 0, false
}

func (s *sources) studyValue(field string) (float64, bool) {
	f := s.Findings
	fields := map[string]float64{
		"margin": f.Margin, "level": f.Level, "blocks": float64(f.Blocks), "planned": float64(f.Planned), "trials": float64(f.Trials),
		"least": float64(f.Least), "summary level": 0.95, "seed": float64(f.Seed), "arms": float64(len(f.Arms)),
		"void": float64(len(f.Void)), "valid": float64(f.Trials - len(f.Void)), "false alarms": 0.05,
	}
	if s.Study != nil {
		m := s.Study.Measure
		fields["settle"], fields["window"], fields["longest"] = m.Settle.Seconds(), m.Window.Seconds(), m.Longest.Seconds()
		fields["warmup"], fields["retries"], fields["precision"] = m.Warmup.Seconds(), float64(m.Retries), m.Precision
		fields["rate"] = s.Study.Load.Rate
	}
	if s.Plan != nil {
		for i, n := range s.Plan.Looks {
			fields["look "+strconv.Itoa(i+1)] = float64(n)
		}
	}
	v, ok := fields[field]
	return v, ok
}

// shown writes a number of our own sentences.
func (s *sources) shown(id string, v float64) string {
	field := id[strings.LastIndexByte(id, '/')+1:]
	switch field {
	case "margin", "level", "summary level", "false alarms", "precision":
		return typeset(finding.Share(v))
	case "settle", "window", "longest", "warmup":
		return quantity(v, 0, "s")
	case "rate":
		return quantity(v, 0, "1/s")
	case "seed":
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return thousands(strconv.FormatFloat(v, 'f', -1, 64))
}
