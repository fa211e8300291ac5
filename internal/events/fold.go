package events

import (
	"math"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial"
)

const (
	mostEnded = 1000 // trials in a line; others follow in the next one
	mostNotes = 50   // in a line; the last ones are kept
	mostText  = 1000 // runes of a message
)

// fold is what was reported since the last line. It keeps references to intervals and adds nothing up, so
// that a report costs a load next to nothing.
type fold struct {
	event    trial.Event // the last one, without its load
	fresh    bool        // there was one since the last line
	began    time.Time   // the first one
	since    time.Time   // the phase began
	ended    []Ended
	notes    []Note
	load     []measure.Interval // of the load under way; nil if it is in a line
	trial    int                // of the load
	length   int                // of the load
	told     int                // intervals of it in earlier lines
	machines []trial.MachineLoad
	toldOf   map[string]int // the same by machine
	counters []trial.MachineCounters
}

// take adds an event.
func (f *fold) take(e trial.Event, now time.Time) {
	if f.began.IsZero() {
		f.began = now
	}
	switch {
	case e.Phase == trial.PhaseJudged:
		f.ended = append(f.ended, Ended{Trial: e.Trial, Block: e.Block, Arm: e.Arm, Value: finite(e.Value), Void: shortened(e.Note)})
	case e.Note != "":
		f.notes = append(f.notes, Note{string(e.Phase), shortened(e.Note)})
		f.notes = f.notes[max(0, len(f.notes)-mostNotes):]
	}
	f.fresh = true
	if e.Earlier {
		return
	}
	if e.Phase != f.event.Phase || e.Trial != f.event.Trial {
		f.since = now
	}
	if n := len(e.Load); n > 0 {
		if n <= f.length || e.Trial != f.trial || f.toldOf == nil { // another load: one only grows
			f.told, f.toldOf = 0, map[string]int{}
		}
		f.load, f.machines, f.length, f.trial = e.Load, e.Machines, n, e.Trial
	}
	if e.Counters != nil {
		f.counters = e.Counters
	}
	e.Load, e.Machines, e.Counters = nil, nil, nil
	f.event = e
}

// part is what one line is made of.
type part struct {
	fold
	from []int // of the intervals of each machine
}

// cut takes what the next line is made of.
func (f *fold) cut() part {
	p := part{fold: *f}
	p.ended = slices.Clone(f.ended[:min(len(f.ended), mostEnded)])
	f.ended = slices.Clone(f.ended[len(p.ended):])
	for _, m := range f.machines {
		name := m.Group + "/" + m.Machine
		p.from = append(p.from, min(f.toldOf[name], len(m.Intervals)))
		f.toldOf[name] = len(m.Intervals)
	}
	f.told = max(f.told, len(f.load))
	f.load, f.machines, f.counters, f.notes, f.fresh = nil, nil, nil, nil, false
	return p
}

// restore takes back a part that could not be written: what happened is not lost, the state of that instant is.
func (f *fold) restore(p part) {
	f.ended, f.notes, f.fresh = append(p.ended, f.ended...), append(p.notes, f.notes...), true
	f.notes = f.notes[max(0, len(f.notes)-mostNotes):]
}

// line makes a line of a part.
func (p *part) line(now time.Time) Line {
	e := &p.event
	l := Line{
		Time: now.UTC().Truncate(time.Millisecond), Elapsed: seconds(now.Sub(p.began)), Phase: string(e.Phase), Trial: e.Trial, Trials: e.Trials, Block: e.Block, Arm: e.Arm,
		Blocks: e.Blocks, Look: e.Look, Left: seconds(e.Left), Soonest: seconds(e.Soonest), Ended: p.ended, Notes: p.notes,
	}
	if !p.since.IsZero() {
		l.InPhase = seconds(now.Sub(p.since))
	}
	if fresh := p.load[min(p.told, len(p.load)):]; len(fresh) > 0 && p.trial == e.Trial {
		l.Load = loadOf(fresh)
		l.Machines = p.machineLoads()
	}
	p.addCounters(&l)
	return l
}

func (p *part) machineLoads() (all []Machine) {
	for i, m := range p.machines {
		one := Machine{Name: m.Machine, Group: m.Group}
		if fresh := m.Intervals[p.from[i]:]; len(fresh) > 0 {
			one.Load = &loadOf(fresh).Figures
		}
		all = append(all, one)
	}
	return all
}

// addCounters enters the largest share of all machines, and those of each of several.
func (p *part) addCounters(l *Line) {
	for _, m := range p.counters {
		for check, share := range m.Shares {
			if math.IsNaN(share) || math.IsInf(share, 0) {
				continue
			}
			if l.Counters == nil {
				l.Counters = map[string]float64{}
			}
			l.Counters[check] = max(l.Counters[check], rounded(share))
		}
	}
	if len(p.counters) < 2 {
		return
	}
	for _, m := range p.counters {
		i := slices.IndexFunc(l.Machines, func(o Machine) bool { return o.Name == m.Machine && o.Group == m.Group })
		if i < 0 {
			i = len(l.Machines)
			l.Machines = append(l.Machines, Machine{Name: m.Machine, Group: m.Group})
		}
		l.Machines[i].Counters = map[string]float64{}
		for check, share := range m.Shares {
			if !math.IsNaN(share) && !math.IsInf(share, 0) {
				l.Machines[i].Counters[check] = rounded(share)
			}
		}
	}
}

// loadOf adds up intervals, by class where there are several.
func loadOf(intervals []measure.Interval) *Load {
	var names []string
	sums, times := map[string]*measure.Sample{}, map[string]*measure.Histogram{}
	out := &Load{From: seconds(intervals[0].From), To: seconds(intervals[len(intervals)-1].To)}
	length := 0.
	for i := range intervals {
		in := &intervals[i]
		length += (in.To - in.From).Seconds()
		out.Late, out.Abandoned = out.Late+in.Offer.Late, out.Abandoned+in.Offer.Abandoned
		for _, s := range in.Samples {
			if sums[s.Class] == nil {
				names = append(names, s.Class)
				sums[s.Class], times[s.Class] = new(measure.Sample), measure.NewHistogram()
			}
			sums[s.Class].Add(s)
			in.AddLatency(s.Class, times[s.Class])
		}
	}
	if len(names) == 1 {
		out.Figures = figures(sums[names[0]], times[names[0]], length)
		return out
	}
	all, whole := new(measure.Sample), measure.NewHistogram()
	out.Classes = map[string]Figures{}
	for _, name := range names {
		all.Add(*sums[name])
		whole.Merge(times[name])
		out.Classes[name] = figures(sums[name], times[name], length)
	}
	out.Figures = figures(all, whole, length)
	return out
}

func figures(sum *measure.Sample, times *measure.Histogram, length float64) Figures {
	f := Figures{Operations: sum.Operations, Errors: sum.Errors}
	if length > 0 {
		f.Rate = rounded(float64(sum.Operations) / length)
	}
	quantile := func(q float64) *float64 {
		d, ok := times.Quantile(q)
		if !ok {
			return nil
		}
		v := rounded(d.Seconds())
		return &v
	}
	f.P50, f.P99 = quantile(.5), quantile(.99)
	return f
}

// seconds has milliseconds.
func seconds(d time.Duration) float64 { return float64(d.Round(time.Millisecond)) / 1e9 }

// rounded has six digits: a line is for looking at.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return short
}

// finite is a value that JSON can hold, or none.
func finite(v *float64) *float64 {
	if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
		return nil
	}
	return v
}

func shortened(text string) string {
	if len(text) <= mostText {
		return text
	}
	runes := []rune(text)
	if len(runes) <= mostText {
		return text
	}
	return string(runes[:mostText-1]) + "…"
}
