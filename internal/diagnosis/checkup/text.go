package checkup

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/column"
	"plimsoll/internal/escape"
	"plimsoll/internal/quantity"
)

// Look is how a report is shown.
type Look struct {
	Width   int // in columns; 0 is 100
	Colour  bool
	Verbose bool // each rule that was not judged
}

const (
	usualWidth = 100
	leastWidth = 40
	mostWidth  = 120 // longer lines are hard to read
)

// Text prints a report for a person.
func (r *Report) Text(w io.Writer, look Look) error {
	t := &text{Look: look}
	t.Width = min(mostWidth, max(leastWidth, cmp.Or(look.Width, usualWidth)))
	for _, h := range r.all {
		t.line(0, h.Host+": "+h.about+fmt.Sprintf(", watched %.0f s.", h.Seconds))
	}
	for _, s := range r.Hosts {
		if s.Error != "" {
			t.line(0, s.Host+": not checked.")
		}
	}
	t.b.WriteByte('\n')
	if len(r.Findings) == 0 && len(r.all) > 0 {
		t.line(0, "Nothing found.")
	}
	number := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if t.explained(r, f) {
			continue
		}
		number++
		t.finding(r, number, f)
	}
	for _, h := range r.all {
		t.notJudged(h, len(r.all) > 1)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type text struct {
	Look
	b strings.Builder
}

// explained reports whether a finding is shown below the one that it follows from.
func (t *text) explained(r *Report, f *Finding) bool {
	return f.Cause != "" && slices.ContainsFunc(r.Findings, func(x Finding) bool { return x.Host == f.Host && x.Rule == f.Cause && x.Cause == "" })
}

// finding shows a finding: the first one in bold.
func (t *text) finding(r *Report, number int, f *Finding) {
	says := fmt.Sprintf("%d. ", number)
	if len(r.Hosts) > 1 {
		says += f.Host + ": "
	}
	says += f.Says
	if number == 1 {
		t.paint("1", func() { t.line(3, says) })
	} else {
		t.line(3, says)
	}
	facts := []string{f.Rule, string(f.Area), string(f.Confidence)}
	if f.Impact >= 0.01 {
		facts = append(facts, "costs "+quantity.Of(f.Impact, "share"))
	}
	t.paint("2", func() { t.item("", strings.Join(facts, ", ")) })
	var evidence []string
	for _, e := range f.Evidence {
		evidence = append(evidence, e.Name+" "+quantity.Of(e.Value, e.Unit))
	}
	if len(evidence) > 0 {
		t.item("Seen", strings.Join(evidence, "; "))
	}
	if f.Change != nil {
		t.item("Change", f.Change.Says)
		if f.Change.Command != "" {
			t.command(f.Change.Command)
		}
	}
	if p := f.Prediction; p != nil {
		t.item("Expect", fmt.Sprintf("%s %s to %s (%s)", p.Of, signed(p.Low), signed(p.High), p.Basis))
	}
	var follow []string
	for i := range r.Findings {
		if x := &r.Findings[i]; x.Host == f.Host && x.Cause == f.Rule && t.explained(r, x) {
			follow = append(follow, strings.TrimSpace(x.Rule+" "+x.Subject))
		}
	}
	if len(follow) > 0 {
		t.item("Hence", strings.Join(follow, "; "))
	}
	t.b.WriteByte('\n')
}

// signed is a relative change.
func signed(v float64) string {
	if v < 0 {
		return "-" + quantity.Of(-v, "share")
	}
	return "+" + quantity.Of(v, "share")
}

// notJudged shows the rules that could not be judged, those of one reason in a line.
func (t *text) notJudged(h *Host, named bool) {
	var reasons []string
	rules := map[string][]string{}
	for _, n := range h.NotJudged {
		if rules[n.Reason] == nil {
			reasons = append(reasons, n.Reason)
		}
		rules[n.Reason] = append(rules[n.Reason], n.Rule)
	}
	at := ""
	if named {
		at = h.Host + ": "
	}
	for _, reason := range reasons {
		names := rules[reason]
		which := fmt.Sprintf("%d rules", len(names))
		if t.Verbose || len(names) == 1 {
			which = strings.Join(names, ", ")
		}
		t.paint("2", func() { t.line(2, at+"Not judged: "+which+": "+reason+".") })
	}
	if !h.root {
		t.line(2, at+"Sockets, open files and I/O of other users' programs cannot be read. Run the check as root to judge them.")
	}
}

// item is a line with a name in front.
func (t *text) item(name, says string) {
	t.line(11, fmt.Sprintf("   %-7s ", name)+says)
}

// command is shown whole: it is to be copied.
func (t *text) command(command string) {
	fmt.Fprintf(&t.b, "           $ %s\n", escaped(command))
}

// escaped is a text in one line that cannot change the terminal.
func escaped(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", " ").Replace(escape.Text(s))
}

// line wraps a text, with what follows its first line indented.
func (t *text) line(indent int, says string) {
	rest := escaped(says)
	for first := true; ; first = false {
		margin := ""
		if !first {
			margin = strings.Repeat(" ", indent)
		}
		room := t.Width - len(margin)
		if column.Width(rest) <= room {
			t.b.WriteString(margin + rest + "\n")
			return
		}
		head, next := column.Cut(rest, room)
		if at := strings.LastIndexByte(strings.TrimRight(head, " "), ' '); !strings.HasPrefix(next, " ") && at > indent {
			head, next = head[:at], rest[at:]
		}
		t.b.WriteString(margin + strings.TrimRight(head, " ") + "\n")
		rest = strings.TrimLeft(next, " ")
	}
}

// paint has lines in a style of ECMA-48, each by itself.
func (t *text) paint(code string, write func()) {
	if !t.Colour {
		write()
		return
	}
	before := t.b.String()
	t.b.Reset()
	write()
	lines := strings.TrimSuffix(t.b.String(), "\n")
	t.b.Reset()
	t.b.WriteString(before)
	for line := range strings.SplitSeq(lines, "\n") {
		t.b.WriteString("\x1b[" + code + "m" + line + "\x1b[0m\n")
	}
}
