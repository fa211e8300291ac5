package study

import (
	"strconv"
	"time"

	"plimsoll/internal/document"

	"plimsoll/internal/parameter"
)

// Auto lets plimsoll choose the warm-up or the number of blocks.
const Auto = "auto"

// Timing is the schema of measure, with its defaults. What depends on other
// keys has no default here (see defaultLongest and defaultInterval).
type Timing struct {
	Settle    parameter.Duration `name:"settle" doc:"pause between applying levels and starting the load"`
	Warmup    string             `name:"warmup" doc:"warm-up; auto detects its end by MSER-5, a duration fixes it"`
	Window    parameter.Duration `name:"window" doc:"minimum measurement window of a trial" min:"100ms"`
	Longest   parameter.Duration `name:"longest" doc:"maximum duration of a load, warm-up included; default six windows plus a fixed warm-up"`
	Interval  parameter.Duration `name:"interval" doc:"interval of the time series; default a 50th of the window, between 100ms and 1s" min:"1ms"`
	Blocks    string             `name:"blocks" doc:"blocks; auto stops at the first planned look that decides, a number fixes them"`
	Looks     []string           `name:"looks" doc:"numbers of blocks at which auto looks"`
	Precision parameter.Share    `name:"precision" doc:"target half-width of the confidence interval, which determines the number of blocks; replaces looks"`
	Time      parameter.Duration `name:"time" doc:"time budget of the study"`
	Disk      parameter.Bytes    `name:"disk" doc:"disk space budget of the study"`
	Retries   int                `name:"retries" doc:"maximum number of void trials repeated, in total" min:"0" max:"1000"`
}

// DefaultLooks are the default looks, in blocks.
func DefaultLooks() []int { return []int{9, 13, 18, 24} }

// DefaultTiming is the default of measure.
func DefaultTiming() *Timing {
	var looks []string
	for _, n := range DefaultLooks() {
		looks = append(looks, strconv.Itoa(n))
	}
	return &Timing{
		Settle: parameter.Duration(time.Second), Warmup: Auto, Window: parameter.Duration(10 * time.Second),
		Blocks: Auto, Looks: looks, Retries: 3,
	}
}

// MostBlocks is the largest number of blocks that a study may ask for.
const MostBlocks = 100_000

// defaultLongest is six windows, in case of a late steady state, plus a fixed warm-up.
func defaultLongest(m Measure) time.Duration { return max(m.Warmup, 0) + 6*m.Window }

// defaultInterval is a fiftieth of the window, as MSER-5 needs 50 samples, within limits.
func defaultInterval(m Measure) time.Duration {
	interval := min(max(m.Window/50, 100*time.Millisecond), time.Second)
	return interval.Truncate(10 * time.Millisecond)
}

// measure parses the timing of trials. The node may be nil.
func (mr measureReader) measure(n *document.Node) Measure {
	t := DefaultTiming()
	given := mr.r.settings(n, "measure", t)
	if err := parameter.Decode(t, given); err != nil {
		mr.r.in.Complain(n, "measure: %v", err) // a gap in the validation, since each value was checked
	}
	m := Measure{
		Settle: time.Duration(t.Settle), Warmup: AutoWarmup, Window: time.Duration(t.Window), Longest: time.Duration(t.Longest),
		Interval: time.Duration(t.Interval), Precision: float64(t.Precision), Time: time.Duration(t.Time), Disk: int64(t.Disk), Retries: t.Retries,
	}
	if t.Warmup != Auto {
		var d parameter.Duration
		if err := d.UnmarshalText([]byte(t.Warmup)); err != nil {
			mr.r.in.Complain(mr.r.places["measure.warmup"], "warmup: %q is not auto or %v", t.Warmup, err)
		}
		m.Warmup = time.Duration(d)
	}
	if m.Longest == 0 {
		m.Longest = defaultLongest(m)
	}
	if m.Interval == 0 {
		m.Interval = defaultInterval(m)
	}
	mr.blocks(t, &m)
	mr.consistent(m)
	return m
}

// blocks reads the number of blocks and the looks.
func (mr measureReader) blocks(t *Timing, m *Measure) {
	if t.Blocks != Auto {
		n, err := strconv.Atoi(t.Blocks)
		if err != nil || n < 1 || n > MostBlocks {
			mr.r.in.Complain(mr.r.places["measure.blocks"], "blocks: %q is not auto or a number from 1 to %d", t.Blocks, MostBlocks)
			n = 1
		}
		m.Blocks = n
	}
	last := 1
	for _, text := range t.Looks {
		n, err := strconv.Atoi(text)
		if err != nil || n <= last || n > MostBlocks {
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
func (mr measureReader) consistent(m Measure) {
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
