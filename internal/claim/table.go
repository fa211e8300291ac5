package claim

import (
	"fmt"
	"regexp"
	"strings"
)

// Headers of columns.
var (
	beforeHeader = regexp.MustCompile(`(?i)\b(?:before|baseline|default|off|old|without|from|original|originally|previous|native|control|reference|disabled|base|stock|vanilla|was|unpatched|a)\b`)
	afterHeader  = regexp.MustCompile(`(?i)\b(?:after|new|on|with|tuned|to|now|optimi[sz]ed|patched|enabled|candidate|treatment|current|b)\b`)
	changeHeader = regexp.MustCompile(`(?i)change|delta|\x{394}|\bdiff|gain|improvement|increase|decrease|reduction|drop|saving|speed-?up|ratio|overhead|\bloss\b|relative|effect|^%$|^ ?[+/\-]+ ?%?$|faster|slower|\bvs base\b`)
	factorHeader = regexp.MustCompile(`(?i)ratio|speed-?up|factor|\bx\b`)
	unitHeader   = regexp.MustCompile(`[(\[]([^()\[\]]*)[)\]]`)
	totalRow     = regexp.MustCompile(`(?i)^\**(?:total|sum|all)\**:?$`)
	shareHeader  = regexp.MustCompile(`(?i)share|portion|fraction|count|number of`)
)

// columns are what the columns of a table hold; -1 for none.
type columns struct {
	before, after, change int
	either                bool
	loop                  [3]int // in flight, rate, mean latency
}

// table audits a table: the change of each row, Little's law where the columns give
// it, and totals.
func (a *auditor) table(b *block) {
	if len(b.rows) == 0 {
		return
	}
	header := b.rows[0].cells
	rows := b.rows
	groups := a.groupsOf(header, b.rows)
	if headed(header) {
		rows = rows[1:]
	}
	for i := range rows {
		a.line, a.text = rows[i].line, strings.Join(rows[i].cells, " | ")
		first := len(a.claims)
		if totalRow.MatchString(strings.TrimSpace(rows[i].cells[0])) {
			a.total(header, rows[:i], &rows[i])
		}
		for k := range groups {
			a.rowChange(&groups[k], header, &rows[i])
		}
		a.rowLoop(&groups[0], header, &rows[i])
		if len(a.claims) == first {
			a.cells(&rows[i])
		}
		if len(a.claims) == first && hasDigit(a.text) {
			a.add(Claim{Status: NotUnderstood, Reason: "no values to recompute it from"})
		}
	}
}

// headed tells whether the first row is one of names.
func headed(cells []string) bool {
	numbers := 0
	for _, c := range cells[min(1, len(cells)):] {
		if (locale{}).isNumber(c) {
			numbers++
		}
	}
	return 2*numbers < len(cells)
}

// isNumber tells whether a cell is a number and nothing else but its unit.
func (l locale) isNumber(cell string) bool {
	q := l.cell(cell, "")
	return q != nil
}

// cell reads a cell as one number, with the unit of its header where it has none.
func (l locale) cell(cell, header string) *quantity {
	cell, _, _ = strings.Cut(cell, "\u00b1") // the spread
	tokens := l.lex(strings.Trim(cell, " *~"))
	if len(tokens) == 0 || len(tokens) > 6 || tokens[0].num == nil {
		return nil
	}
	for _, t := range tokens[1:] {
		if t.num != nil {
			return nil
		}
	}
	q := tokens[0].num
	if q.unit.dim == "" && !q.times {
		unitText := header
		if m := unitHeader.FindStringSubmatch(header); m != nil {
			unitText = m[1]
		} else if i := strings.LastIndex(header, ", "); i >= 0 {
			unitText = header[i+2:]
		}
		switch {
		case strings.Contains(unitText, "%") || strings.Contains(strings.ToLower(unitText), "percent"):
			q.unit = unit{dim: dimPercent, scale: 1}
		default:
			if u, _, n := readUnit(" " + strings.TrimSpace(unitText)); n > 0 {
				q.unit = u
			}
		}
	}
	return q
}

var (
	flightHeader = regexp.MustCompile(`(?i)threads|clients|users|connections|in[ -]flight|outstanding|concurrency`)
	rateHeader   = regexp.MustCompile(`(?i)/s\b|per second|iops|\btps\b|\bqps\b|\brps\b`)
	meanHeader   = regexp.MustCompile(`(?i)\b(?:mean|average|avg)\b`)
	timeHeader   = regexp.MustCompile(`(?i)latency|response|time|\((?:ns|us|\x{b5}s|ms|s)\)`)
)

func cellAt(cells []string, k int) string {
	if k < 0 || k >= len(cells) {
		return ""
	}
	return cells[k]
}

// rowChange holds the change column against the two columns of values.
func (a *auditor) rowChange(c *columns, header []string, r *row) {
	if c.change < 0 || c.before < 0 || c.after < 0 {
		return
	}
	l := a.doc.locale
	before, after := l.cell(cellAt(r.cells, c.before), cellAt(header, c.before)), l.cell(cellAt(r.cells, c.after), cellAt(header, c.after))
	text := cellAt(r.cells, c.change)
	if before == nil || after == nil || !hasDigit(text) {
		return
	}
	name := header[c.change]
	one, ok := a.cellSaying(text, name)
	if !ok || !before.like(after) {
		a.add(Claim{Said: text, Status: NotUnderstood, Reason: "not a change that can be computed"})
		return
	}
	if one.kind == asDifference && one.num.unit.dim == "" {
		one.num.unit = before.unit
	}
	named := one
	named.under(strings.ToLower(name))
	if one.sign == 0 {
		one = named
	}
	metric := rowMetric(cellAt(r.cells, 0), cellAt(header, c.before), before)
	ch := &change{a: before, b: after, metric: metric, either: c.either && one.sign == 0}
	out := judge(&one, ch)
	if out.Status == DoesNotHold && one.sign != 0 && named.direction+named.good != 0 {
		// An "improvement" of -5 % is a change for the worse.
		named.direction, named.good, named.sign = named.direction*one.sign, named.good*one.sign, 0
		if other := judge(&named, ch); other.Status == Holds {
			out = other
		}
	}
	out.Said = fmt.Sprintf("%s -> %s: %s", before.printed, after.printed, text)
	// "overhead" and "loss" are signed as the writer likes.
	if out.Status == DoesNotHold && (one.good != 0 || one.direction < 0) {
		plain := one
		plain.good, plain.direction, plain.sign = 0, 1, 0
		other := plain
		other.direction = -1
		if metric == "" && (judge(&plain, ch).Status == Holds || judge(&other, ch).Status == Holds) {
			out.Status, out.Reason, out.Wording = NotUnderstood, "whether more or less is better is not known", ""
		}
	}
	if out.Status == DoesNotHold && c.either && out.Reason != faultSign {
		out.Status, out.Reason, out.Wording = NotUnderstood, "the columns do not say which is the base", ""
	}
	a.add(out)
}

// rowMetric is what a row measures: by its name, the header of its value and the unit.
func rowMetric(name, header string, value *quantity) string {
	name = strings.ToLower(name)
	if value.unit.dim == dimTime {
		return metricLatency
	}
	for _, w := range strings.Fields(name + " " + strings.ToLower(header)) {
		if m := metricWords[strings.Trim(w, "(),:")]; m != "" {
			return m
		}
	}
	if strings.Contains(name, "/s") {
		return metricThroughput
	}
	return ""
}

// under gives a change the direction that the header of its column names.
func (one *saying) under(header string) {
	if one.direction != 0 || one.good != 0 {
		return
	}
	for _, w := range strings.FieldsFunc(header, func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch {
		case w == "gain" || w == "gains":
			one.good = 1
		case downs[w]:
			one.direction = -1
		case goods[w] != 0:
			one.good, one.speed = goods[w], speeds[w]
		}
	}
}

// cellSaying reads a cell of a change column.
func (a *auditor) cellSaying(text, header string) (saying, bool) {
	s := parse(a.doc.locale, text)
	if len(s.sayings) == 0 && len(s.numbers) == 1 {
		q := s.tokens[s.numbers[0]].num
		if q.unit.dim == "" {
			switch {
			case strings.Contains(header, "%") || strings.Contains(strings.ToLower(header), "percent"):
				q.unit = unit{dim: dimPercent, scale: 1}
			case factorHeader.MatchString(header):
				q.times = true
			case changeHeader.MatchString(header) && !strings.ContainsAny(header, "(["):
				// A bare number under "change" is one in percent, or a difference.
				return saying{}, false
			}
		}
		s.findSayings()
	}
	if len(s.sayings) == 1 && s.sayings[0].kind == asDifference && s.sayings[0].num.unit.dim == "" && strings.Contains(header, "%") {
		s.sayings[0].kind = inPercent
	}
	if len(s.sayings) != 1 {
		return saying{}, false
	}
	return s.sayings[0], true
}

// rowLoop holds a row against Little's law.
func (a *auditor) rowLoop(c *columns, header []string, r *row) {
	if c.loop[0] < 0 || c.loop[1] < 0 || c.loop[2] < 0 {
		return
	}
	l := a.doc.locale
	var q [3]*quantity
	for k, at := range c.loop {
		q[k] = l.cell(cellAt(r.cells, at), cellAt(header, at))
		if q[k] == nil {
			return
		}
	}
	if q[1].unit.dim != dimRate {
		q[1].unit = unit{dim: dimRate, scale: 1}
		if m := strings.ToLower(header[c.loop[1]]); strings.HasPrefix(strings.TrimSpace(m), "k") {
			q[1].unit.scale = 1e3
		}
	}
	if q[2].unit.dim != dimTime {
		return
	}
	s := &sentence{near: strings.ToLower(strings.Join(header, " "))}
	a.add(s.little(q[0], q[1], q[2]))
}

// cells audits each cell of a row as a sentence, where it is one.
func (a *auditor) cells(r *row) {
	start := len(a.claims)
	for _, c := range r.cells {
		s := parse(a.doc.locale, c)
		if len(s.numbers) < 2 && !strings.Contains(c, " ") || s.long {
			continue
		}
		for _, one := range sentences(c) {
			s := parse(a.doc.locale, one.text)
			first := len(a.claims)
			a.sentence(s)
			a.drop(first)
		}
	}
	if len(a.claims) == start {
		a.rowPairs(r)
	}
}

// rowPairs audits a row as one sentence: a pair in one cell and its change in the next.
func (a *auditor) rowPairs(r *row) {
	first := len(a.claims)
	for k := 0; k+1 < len(r.cells); k++ {
		if len(r.cells[k])+len(r.cells[k+1]) > 400 {
			continue
		}
		s := parse(a.doc.locale, r.cells[k]+": "+r.cells[k+1])
		if len(s.pairs) == 0 || s.long {
			continue
		}
		start := len(a.claims)
		a.changes(s)
		a.drop(start)
		if len(a.claims) > first {
			return
		}
	}
}

// drop takes back what says only that a cell was not understood: its row says so.
func (a *auditor) drop(first int) {
	kept := a.claims[:first]
	for _, c := range a.claims[first:] {
		if c.Status != NotUnderstood || c.Said != "" {
			kept = append(kept, c)
		}
	}
	a.claims = kept
}

// total checks a row of totals against the rows above it.
func (a *auditor) total(header []string, above []row, r *row) {
	l := a.doc.locale
	for k := 1; k < len(r.cells); k++ {
		want := l.cell(r.cells[k], cellAt(header, k))
		if want == nil || len(above) < 2 {
			continue
		}
		sum, n := span{}, 0
		for _, o := range above {
			q := l.cell(cellAt(o.cells, k), cellAt(header, k))
			if q == nil || !q.like(want) {
				n = -1
				break
			}
			sum, n = sum.plus(q.span()), n+1
		}
		if n < 2 {
			continue
		}
		scale := want.unit.scale
		if scale == 0 {
			scale = 1
		}
		out := Claim{Said: want.printed, Status: Holds, Computed: fmt.Sprintf("the %d rows add up to %s", n, grouped(sum.middle()/scale))}
		if !sum.meets(want.span()) {
			out.Status, out.Reason, out.Wording = NotUnderstood, "the rows add up to something else; this column may not be one to add up", ""
			if shareHeader.MatchString(cellAt(header, k)) || want.percent() && want.value == 100 {
				out.Status, out.Reason, out.Wording = DoesNotHold, faultValue, grouped(sum.middle()/scale)
			}
		}
		a.add(out)
	}
}
