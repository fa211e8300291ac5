package file

import (
	"strconv"
	"time"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/timing"
)

// measure parses the timing of trials. The node may be nil.
func (mr measureReader) measure(n *document.Node) study.Measure {
	t := timing.Default()
	n, own := mr.apart(n, t)
	given := mr.r.settings(n, "measure", t)
	if err := parameter.Decode(t, given); err != nil {
		mr.r.in.Complain(n, "measure: %v", err) // a gap in the validation, since each value was checked
	}
	m := study.Measure{
		Settle: time.Duration(t.Settle), Warmup: study.AutoWarmup, Window: time.Duration(t.Window), Longest: time.Duration(t.Longest),
		Interval: time.Duration(t.Interval), Precision: float64(t.Precision), Time: time.Duration(t.Time), Disk: int64(t.Disk), Retries: t.Retries, Intervene: t.Intervene,
	}
	if t.Warmup != timing.Auto {
		var d parameter.Duration
		if err := d.UnmarshalText([]byte(t.Warmup)); err != nil {
			mr.r.in.Complain(mr.r.places["measure.warmup"], "warmup: %q is not auto or %v", t.Warmup, err)
		}
		m.Warmup = time.Duration(d)
	}
	if m.Longest == 0 {
		m.Longest = timing.Longest(m.Warmup, m.Window)
	}
	if m.Interval == 0 {
		m.Interval = timing.Interval(m.Window)
	}
	m.Energy = mr.energy(own)
	mr.blocks(t, &m)
	mr.consistent(m)
	return m
}

// blocks reads the number of blocks and the looks.
func (mr measureReader) blocks(t *timing.Settings, m *study.Measure) {
	if t.Blocks != timing.Auto {
		n, err := strconv.Atoi(t.Blocks)
		if err != nil || n < 1 || n > timing.MostBlocks {
			mr.r.in.Complain(mr.r.places["measure.blocks"], "blocks: %q is not auto or a number from 1 to %d", t.Blocks, timing.MostBlocks)
			n = 1
		}
		m.Blocks = n
	}
	last := 1
	for _, text := range t.Looks {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last || n > timing.MostBlocks {
			mr.r.in.Complain(mr.r.places["measure.looks"], "looks: %q is not a number of blocks above %d; looks must increase, such as [6, 9, 13]", text, last)
			return
		}
		m.Looks = append(m.Looks, n)
		last = n
	}
	if len(m.Looks) == 0 {
		mr.r.in.Complain(mr.r.places["measure.looks"], "looks: give at least one number of blocks, such as [6, 9, 13]")
	}
}

// consistent rejects contradicting keys of measure. It reports only keys that the study gives.
func (mr measureReader) consistent(m study.Measure) {
	at := func(name string) *document.Node { return mr.r.places["measure."+name] }
	if n := at("precision"); n != nil && m.Precision == 0 {
		mr.r.in.Complain(n, "precision: 0%% is out of reach; give a half-width such as 1%%")
	}
	for _, name := range []string{"looks", "precision"} {
		if n := at(name); n != nil && m.Blocks > 0 {
			mr.r.in.Complain(n, "%s and blocks are mutually exclusive: each sets the number of blocks", name)
		}
	}
	if n := at("looks"); n != nil && at("precision") != nil {
		mr.r.in.Complain(n, "looks and precision are mutually exclusive: each sets the number of blocks")
	}
	if least := max(m.Warmup, 0) + m.Window; m.Longest < least {
		n := at("longest") // given, since its default is longer
		mr.r.in.Complain(n, "longest: %s has no room for a warm-up of %s and a window of %s", m.Longest, max(m.Warmup, 0), m.Window)
	}
	if n := at("interval"); n != nil && m.Interval > m.Window {
		mr.r.in.Complain(n, "interval: %s is longer than the window of %s", m.Interval, m.Window)
	}
	if n := at("time"); n != nil && m.Time == 0 {
		mr.r.in.Complain(n, "time: a budget of 0s allows no trial")
	}
}
