package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/doctor/warning"
)

// Ledger holds the observations and predictions of earlier rounds.
type Ledger struct {
	Rounds  []*Round
	Damaged []string // unreadable lines with number and error; they stay in the file

	open bool // the file does not end with a newline
}

// opening is the prefix of every line; it distinguishes a damaged line from another file.
const opening = `{"kind":"round"`

// mostLine is the maximum length of a quoted line.
const mostLine = 40

// ReadLedger reads a ledger, one JSON object per line. A truncated line, as after a full disk,
// is reported and skipped. Only the last rounds of a long ledger are read. Any other text is
// an error.
func ReadLedger(name string, text []byte) (*Ledger, error) {
	l := &Ledger{open: len(text) > 0 && text[len(text)-1] != '\n'}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || i < len(lines)-2*longMemory && bytes.HasPrefix(line, []byte(opening)) && line[len(line)-1] == '}' {
			continue
		}
		var r Round
		err := json.Unmarshal(line, &r)
		switch start := string(line[:min(len(line), len(opening))]); {
		case err == nil && r.Kind == "round":
			l.Rounds = append(l.Rounds, &r)
		case err == nil || !strings.HasPrefix(opening, start):
			return nil, fmt.Errorf("%s:%d: not a ledger: it contains %q; specify a new file, or one written by --ledger", name, i+1, line[:min(len(line), mostLine)])
		default:
			l.Damaged = append(l.Damaged, fmt.Sprintf("%s:%d: the line is truncated after %d bytes (%v); the round is skipped", name, i+1, len(line), err))
		}
	}
	return l, nil
}

// Look reports on a cluster like the function Look, with the outcome of the last round and the
// record of all, and returns the round to append: nil if the last round had the same snapshot.
// The time is that of the snapshot, RFC 3339; if empty, the snapshot's own is used. A time
// before the last round and the ledger of another cluster are errors.
func (l *Ledger) Look(c *cluster.Cluster, at string) (*Report, *Round, error) {
	if at == "" {
		at = c.At
	}
	if err := l.check(c, at); err != nil {
		return nil, nil, err
	}
	before, number := l.Rounds, 1
	report := Look(c, advice.Options{})
	now := newRound(c, report)
	if now.At = at; len(before) > 0 {
		last := before[len(before)-1]
		if number = last.Number + 1; last.sees(now) {
			before, number = before[:len(before)-1], last.Number
		}
	}
	now.Number = number
	h := newHistory(append(append([]*Round(nil), before...), now))
	if o := h.options(c); o.Left != nil {
		report = Look(c, o)
	}
	entered := newRound(c, report)
	entered.At, entered.Number = at, number
	h.rounds[len(h.rounds)-1] = entered
	report.Round, report.At, report.Record = number, at, h.record()
	if n := len(h.outcomes); n > 0 {
		report.Last = h.outcomes[n-1]
		for _, f := range report.Record.Flaps {
			if f.Undone() && f.Round[1] == report.Last.Round {
				report.Last.Summary.Reverted++
			}
		}
	}
	report.Warnings = append(h.warnings(), report.Warnings...)
	for _, d := range l.Damaged {
		report.Warnings = append(report.Warnings, warning.Warning{Kind: "ledger", Text: d, Do: "delete the line from the file"})
	}
	if len(before) < len(l.Rounds) {
		report.Known = true
		return report, nil, nil
	}
	return report, entered, nil
}

func (l *Ledger) check(c *cluster.Cluster, at string) error {
	var now time.Time
	if at != "" {
		var err error
		if now, err = time.Parse(time.RFC3339, at); err != nil {
			return fmt.Errorf("invalid time %q: must be like 2026-11-21T14:00:00Z", at)
		}
	}
	if len(l.Rounds) == 0 {
		return nil
	}
	last := l.Rounds[len(l.Rounds)-1]
	if last.Cluster != c.Name {
		return fmt.Errorf("the ledger is of cluster %q, but the snapshot of %q: use one ledger per cluster", last.Cluster, c.Name)
	}
	if then, err := time.Parse(time.RFC3339, last.At); err == nil && at != "" && now.Before(then) {
		return fmt.Errorf("the snapshot of %s is older than the last round in the ledger, of %s: enter snapshots in order", at, last.At)
	}
	return nil
}

// Line is the line of a round to append to the file. It starts with a newline if the last line
// was truncated.
func (l *Ledger) Line(r *Round) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write round %d: %w", r.Number, err)
	}
	if l.open {
		text = append([]byte("\n"), text...)
	}
	return append(text, '\n'), nil
}
