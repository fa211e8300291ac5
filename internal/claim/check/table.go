package check

import (
	"fmt"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/judge"
	"plimsoll/internal/claim/number"
	"plimsoll/internal/pattern"
)

// Headers of columns.
var (
	beforeHeader = pattern.Of(`(?i)\b(?:before|baseline|default|off|old|without|from|original|originally|previous|native|control|reference|disabled|base|stock|vanilla|was|unpatched|a)\b`)
	afterHeader  = pattern.Of(`(?i)\b(?:after|new|on|with|tuned|to|now|optimi[sz]ed|patched|enabled|candidate|treatment|current|b)\b`)
	changeHeader = pattern.Of(`(?i)change|delta|\x{394}|\bdiff|gain|improvement|increase|decrease|reduction|drop|saving|speed-?up|ratio|overhead|\bloss\b|relative|effect|^%$|^ ?[+/\-]+ ?%?$|faster|slower|\bvs base\b`)
	factorHeader = pattern.Of(`(?i)ratio|speed-?up|factor|\bx\b`)
	unitHeader   = pattern.Of(`[(\[]([^()\[\]]*)[)\]]`)
	totalRow     = pattern.Of(`(?i)^\**(?:total|sum|all)\**:?$`)
	shareHeader  = pattern.Of(`(?i)share|portion|fraction|count|number of`)
)

// columns are the indices of a table's columns; -1 for none.
type columns struct {
	before, after, change int
	either                bool
	loop                  [3]int // in flight, rate, mean latency
}

// table audits a table: the change of each row, Little's law if the columns allow it, and
// totals.
func table(a *auditor, b *document.Block) {
	if len(b.Rows) == 0 {
		return
	}
	header := b.Rows[0].Cells
	rows := b.Rows
	groups := groupsOf(a, header, b.Rows)
	if headed(header) {
		rows = rows[1:]
	}
	for i := range rows {
		a.line, a.text = rows[i].Line, strings.Join(rows[i].Cells, " | ")
		first := len(a.claims)
		if totalRow().MatchString(strings.TrimSpace(rows[i].Cells[0])) {
			total(a, header, rows[:i], &rows[i])
		}
		for k := range groups {
			rowChange(a, &groups[k], header, &rows[i])
		}
		rowLoop(a, &groups[0], header, &rows[i])
		if len(a.claims) == first {
			cells(a, &rows[i])
		}
		if len(a.claims) == first && number.HasDigit(a.text) {
			a.add(claim.Claim{Status: claim.NotUnderstood, Reason: "no values to recompute from"})
		}
	}
}

// headed reports whether the first row is a header.
func headed(cells []string) bool {
	numbers := 0
	for _, c := range cells[min(1, len(cells)):] {
		if isNumber((number.Locale{}), c) {
			numbers++
		}
	}
	return 2*numbers < len(cells)
}

// isNumber reports whether a cell is only a number with its unit.
func isNumber(l number.Locale, cell string) bool {
	q := cellOf(l, cell, "")
	return q != nil
}

// cellOf parses a cell as one number, with the unit of its header if it has none.
func cellOf(l number.Locale, cell, header string) *number.Quantity {
	cell, _, _ = strings.Cut(cell, "\u00b1") // a standard deviation or interval
	tokens := l.Lex(strings.Trim(cell, " *~"))
	if len(tokens) == 0 || len(tokens) > 6 || tokens[0].Num == nil {
		return nil
	}
	for _, t := range tokens[1:] {
		if t.Num != nil {
			return nil
		}
	}
	q := tokens[0].Num
	if q.Unit.Dim == "" && !q.Times {
		unitText := header
		if m := unitHeader().FindStringSubmatch(header); m != nil {
			unitText = m[1]
		} else if i := strings.LastIndex(header, ", "); i >= 0 {
			unitText = header[i+2:]
		}
		switch {
		case strings.Contains(unitText, "%") || strings.Contains(strings.ToLower(unitText), "percent"):
			q.Unit = number.Unit{Dim: number.DimPercent, Scale: 1}
		default:
			if u, _, n := number.ReadUnit(" " + strings.TrimSpace(unitText)); n > 0 {
				q.Unit = u
			}
		}
	}
	return q
}

var (
	flightHeader = pattern.Of(`(?i)threads|clients|users|connections|in[ -]flight|outstanding|concurrency`)
	rateHeader   = pattern.Of(`(?i)/s\b|per second|iops|\btps\b|\bqps\b|\brps\b`)
	meanHeader   = pattern.Of(`(?i)\b(?:mean|average|avg)\b`)
	timeHeader   = pattern.Of(`(?i)latency|response|time|\((?:ns|us|\x{b5}s|ms|s)\)`)
)

func cellAt(cells []string, k int) string {
	if k < 0 || k >= len(cells) {
		return ""
	}
	return cells[k]
}

// rowChange compares the change column with the two value columns.
func rowChange(a *auditor, c *columns, header []string, r *document.Row) {
	if c.change < 0 || c.before < 0 || c.after < 0 {
		return
	}
	l := a.doc.Locale
	before, after := cellOf(l, cellAt(r.Cells, c.before), cellAt(header, c.before)), cellOf(l, cellAt(r.Cells, c.after), cellAt(header, c.after))
	text := cellAt(r.Cells, c.change)
	if before == nil || after == nil || !number.HasDigit(text) {
		return
	}
	name := header[c.change]
	one, ok := cellSaying(a, text, name)
	if !ok || !before.Like(after) {
		a.add(claim.Claim{Said: text, Status: claim.NotUnderstood, Reason: "not a computable change"})
		return
	}
	if one.Kind == grammar.AsDifference && one.Num.Unit.Dim == "" {
		one.Num.Unit = before.Unit
	}
	named := one
	under(&named, strings.ToLower(name))
	if one.Sign == 0 {
		one = named
	}
	metric := rowMetric(cellAt(r.Cells, 0), cellAt(header, c.before), before)
	ch := &judge.Change{A: before, B: after, Metric: metric, Either: c.either && one.Sign == 0}
	out := judge.Of(&one, ch)
	if out.Status == claim.DoesNotHold && one.Sign != 0 && named.Direction+named.Good != 0 {
		// An "improvement" of -5 % is a change for the worse.
		named.Direction, named.Good, named.Sign = named.Direction*one.Sign, named.Good*one.Sign, 0
		if other := judge.Of(&named, ch); other.Status == claim.Holds {
			out = other
		}
	}
	out.Said = fmt.Sprintf("%s -> %s: %s", before.Printed, after.Printed, text)
	// the sign of "overhead" and "loss" is a matter of convention
	if out.Status == claim.DoesNotHold && (one.Good != 0 || one.Direction < 0) {
		plain := one
		plain.Good, plain.Direction, plain.Sign = 0, 1, 0
		other := plain
		other.Direction = -1
		if metric == "" && (judge.Of(&plain, ch).Status == claim.Holds || judge.Of(&other, ch).Status == claim.Holds) {
			out.Doubt("whether more or less is better is not known")
		}
	}
	if out.Status == claim.DoesNotHold && c.either && out.Reason != judge.FaultSign {
		out.Doubt("the columns do not say which is the base")
	}
	a.add(out)
}

// rowMetric is the metric of a row: by its name, the header of its value and the unit.
func rowMetric(name, header string, value *number.Quantity) string {
	name = strings.ToLower(name)
	if value.Unit.Dim == number.DimTime {
		return number.MetricLatency
	}
	for w := range strings.FieldsSeq(name + " " + strings.ToLower(header)) {
		if m := number.MetricWords[strings.Trim(w, "(),:")]; m != "" {
			return m
		}
	}
	if strings.Contains(name, "/s") {
		return number.MetricThroughput
	}
	return ""
}

// under gives a change the direction that the header of its column names.
func under(one *grammar.Saying, header string) {
	if one.Direction != 0 || one.Good != 0 {
		return
	}
	for _, w := range strings.FieldsFunc(header, func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch {
		case w == "gain" || w == "gains":
			one.Good = 1
		case number.Downs[w]:
			one.Direction = -1
		case number.Goods[w] != 0:
			one.Good, one.Speed = number.Goods[w], number.Speeds[w]
		}
	}
}

// cellSaying reads a cell of a change column.
func cellSaying(a *auditor, text, header string) (grammar.Saying, bool) {
	s := grammar.Parse(a.doc.Locale, text)
	if len(s.Sayings) == 0 && len(s.Numbers) == 1 {
		q := s.Tokens[s.Numbers[0]].Num
		if q.Unit.Dim == "" {
			switch {
			case strings.Contains(header, "%") || strings.Contains(strings.ToLower(header), "percent"):
				q.Unit = number.Unit{Dim: number.DimPercent, Scale: 1}
			case factorHeader().MatchString(header):
				q.Times = true
			case changeHeader().MatchString(header) && !strings.ContainsAny(header, "(["):
				// A bare number under "change" is ambiguous: percent or a difference.
				return grammar.Saying{}, false
			}
		}
		grammar.FindSayings(s)
	}
	if len(s.Sayings) == 1 && s.Sayings[0].Kind == grammar.AsDifference && s.Sayings[0].Num.Unit.Dim == "" && strings.Contains(header, "%") {
		s.Sayings[0].Kind = grammar.InPercent
	}
	if len(s.Sayings) != 1 {
		return grammar.Saying{}, false
	}
	return s.Sayings[0], true
}

// rowLoop checks a row by Little's law.
func rowLoop(a *auditor, c *columns, header []string, r *document.Row) {
	if c.loop[0] < 0 || c.loop[1] < 0 || c.loop[2] < 0 {
		return
	}
	l := a.doc.Locale
	var q [3]*number.Quantity
	for k, at := range c.loop {
		q[k] = cellOf(l, cellAt(r.Cells, at), cellAt(header, at))
		if q[k] == nil {
			return
		}
	}
	if q[1].Unit.Dim != number.DimRate {
		q[1].Unit = number.Unit{Dim: number.DimRate, Scale: 1}
		if m := strings.ToLower(header[c.loop[1]]); strings.HasPrefix(strings.TrimSpace(m), "k") {
			q[1].Unit.Scale = 1e3
		}
	}
	if q[2].Unit.Dim != number.DimTime {
		return
	}
	s := &grammar.Sentence{Near: strings.ToLower(strings.Join(header, " "))}
	a.add(little(s, q[0], q[1], q[2]))
}

// cells audits each cell that is a sentence.
func cells(a *auditor, r *document.Row) {
	start := len(a.claims)
	for _, c := range r.Cells {
		s := grammar.Parse(a.doc.Locale, c)
		if len(s.Numbers) < 2 && !strings.Contains(c, " ") || s.Long {
			continue
		}
		for _, one := range document.Sentences(c) {
			s := grammar.Parse(a.doc.Locale, one.Text)
			first := len(a.claims)
			a.sentence(s)
			drop(a, first)
		}
	}
	if len(a.claims) == start {
		rowPairs(a, r)
	}
}

// rowPairs audits a row as one sentence: a pair in one cell and its change in the next.
func rowPairs(a *auditor, r *document.Row) {
	first := len(a.claims)
	for k := 0; k+1 < len(r.Cells); k++ {
		if len(r.Cells[k])+len(r.Cells[k+1]) > 400 {
			continue
		}
		s := grammar.Parse(a.doc.Locale, r.Cells[k]+": "+r.Cells[k+1])
		if len(s.Pairs) == 0 || s.Long {
			continue
		}
		start := len(a.claims)
		a.changes(s)
		drop(a, start)
		if len(a.claims) > first {
			return
		}
	}
}

// drop removes "not understood" outcomes of single cells: the row has one.
func drop(a *auditor, first int) {
	kept := a.claims[:first]
	for _, c := range a.claims[first:] {
		if c.Status != claim.NotUnderstood || c.Said != "" {
			kept = append(kept, c)
		}
	}
	a.claims = kept
}

// total checks a row of totals against the rows above it.
func total(a *auditor, header []string, above []document.Row, r *document.Row) {
	l := a.doc.Locale
	for k := 1; k < len(r.Cells); k++ {
		want := cellOf(l, r.Cells[k], cellAt(header, k))
		if want == nil || len(above) < 2 {
			continue
		}
		sum, n := number.Span{}, 0
		for _, o := range above {
			q := cellOf(l, cellAt(o.Cells, k), cellAt(header, k))
			if q == nil || !q.Like(want) {
				n = -1
				break
			}
			sum, n = sum.Plus(q.Span()), n+1
		}
		if n < 2 {
			continue
		}
		scale := want.Unit.Scale
		if scale == 0 {
			scale = 1
		}
		out := claim.Claim{Said: want.Printed, Status: claim.Holds, Computed: fmt.Sprintf("the %d rows add up to %s", n, judge.Grouped(sum.Middle()/scale))}
		if !sum.Meets(want.Span()) {
			out.Doubt("the rows have another sum; this column may not be additive")
			if shareHeader().MatchString(cellAt(header, k)) || want.Percent() && want.Value == 100 {
				out.Refute(judge.FaultValue, judge.Grouped(sum.Middle()/scale))
			}
		}
		a.add(out)
	}
}
