package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Interrupts counts interrupts, soft interrupts and context switches, and how evenly BLOCK
// soft interrupts are spread over the CPUs.
func Interrupts() Source {
	rate := func(name, doc string) Counter { return cumulative(name, "1/s", doc) }
	return Source{
		Name: "interrupts",
		Doc:  "interrupts and context switches, from /proc/stat, /proc/interrupts and /proc/softirqs",
		Counters: []Counter{
			rate("interrupts.total", "interrupts, all types"),
			rate("interrupts.rescheduling", "rescheduling interrupts (IPI)"),
			rate("context_switches", "context switches"),
			rate("softirq.block", "BLOCK soft interrupts"),
			rate("softirq.net_rx", "NET_RX soft interrupts"),
			rate("softirq.net_tx", "NET_TX soft interrupts"),
			rate("softirq.timer", "TIMER soft interrupts"),
			rate("softirq.sched", "SCHED soft interrupts"),
			gauge("softirq.block.busiest_share", "1", "share of BLOCK soft interrupts served by the busiest CPU"),
		},
		Open: openInterrupts,
	}
}

// mostInterruptText bounds the text read from /proc/interrupts, which grows with CPUs times
// devices: generating megabytes loads the kernel.
const mostInterruptText = 1 << 20

func openInterrupts(ctx context.Context, p Env) (Read, error) {
	m := p.Machine
	text, err := read(ctx, m, "/proc/interrupts", "interrupt counts")
	byDevice := err == nil && len(text) <= mostInterruptText
	spread := spread{}
	return tried(ctx, func(ctx context.Context) (map[string]float64, error) {
		values := make(map[string]float64, 9)
		text, err := read(ctx, m, "/proc/stat", "interrupt counts")
		if err == nil {
			err = parseTotals(text, values)
		}
		if err != nil {
			return nil, err
		}
		if byDevice {
			if text, err = read(ctx, m, "/proc/interrupts", "interrupt counts"); err != nil {
				return nil, err
			}
			parseRescheduling(text, values)
		}
		if text, err = read(ctx, m, "/proc/softirqs", "soft interrupt counts"); err != nil {
			return nil, err
		}
		if err := parseSoft(text, values); err != nil {
			return nil, fmt.Errorf("%s: /proc/softirqs: %w", m.Name(), err)
		}
		if share, ok := spread.busiest(text); ok {
			values["softirq.block.busiest_share"] = share
		}
		return values, nil
	})
}

func parseTotals(text []byte, values map[string]float64) error {
	for _, line := range []struct{ key, name string }{{"intr ", "interrupts.total"}, {"ctxt ", "context_switches"}} {
		rest, found := after(text, line.key)
		first, _, _ := bytes.Cut(rest, []byte(" "))
		n, ok := number(first)
		if !found || !ok {
			return fmt.Errorf("/proc/stat: no line %q with a number", line.key)
		}
		values[line.name] = n
	}
	return nil
}

// parseRescheduling finds the line by its description, because labels differ between
// architectures.
func parseRescheduling(text []byte, values map[string]float64) {
	end := bytes.Index(text, []byte("Rescheduling interrupts"))
	if end < 0 {
		return
	}
	line := text[bytes.LastIndexByte(text[:end], '\n')+1 : end]
	_, counts, found := bytes.Cut(line, []byte(":"))
	if !found {
		return
	}
	values["interrupts.rescheduling"] = sum(counts)
}

func sum(counts []byte) float64 {
	total := 0.0
	for field := range bytes.FieldsSeq(counts) {
		n, ok := number(field)
		if !ok {
			break
		}
		total += n
	}
	return total
}

var softNames = []struct{ label, name string }{
	{"BLOCK:", "softirq.block"}, {"NET_RX:", "softirq.net_rx"}, {"NET_TX:", "softirq.net_tx"},
	{"TIMER:", "softirq.timer"}, {"SCHED:", "softirq.sched"},
}

func parseSoft(text []byte, values map[string]float64) error {
	found := 0
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		for _, s := range softNames {
			if rest, ok := bytes.CutPrefix(line, []byte(s.label)); ok {
				values[s.name] = sum(rest)
				found++
			}
		}
	}
	if found == 0 {
		return errors.New("no counts")
	}
	return nil
}

// spread holds the counts per CPU of the previous reading.
type spread struct{ last []float64 }

// busiest is the largest share of one CPU in the BLOCK soft interrupts since the last reading;
// ok is false if there were none.
func (s *spread) busiest(text []byte) (float64, bool) {
	at := bytes.Index(text, []byte("BLOCK:"))
	if at < 0 {
		return 0, false
	}
	line, _, _ := bytes.Cut(text[at+len("BLOCK:"):], []byte("\n"))
	var largest, total float64
	known, i := len(s.last), 0
	for field := range bytes.FieldsSeq(line) {
		n, ok := number(field)
		if !ok {
			break
		}
		if i < known {
			d := max(0, n-s.last[i])
			largest, total = max(largest, d), total+d
			s.last[i] = n
		} else {
			s.last = append(s.last, n)
		}
		i++
	}
	if known == 0 || total == 0 {
		return 0, false
	}
	return largest / total, true
}
