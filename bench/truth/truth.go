// Package truth measures how often studies err and how soon they decide, by
// simulated studies that go through the plan and the findings of the product.
package truth

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"text/tabwriter"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/plan"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
	"plimsoll/internal/study/timing"
)

// Studies is how many are simulated for each rate.
const Studies = 2000

// Of the simulated studies.
const (
	effectPlanted = 0.05 // planted, where there is one
	margin        = 0.02
	within        = 18 // blocks in which it must be decided
	firstSeed     = 20_000_000
)

// design is a kind of study.
type design struct {
	name      string
	arms      int
	headlines []string
	split     bool // a factor that needs a restart beside the one with the effect
}

var plainDesign = design{name: "2 arms", arms: 2, headlines: []string{"rate"}}

// row is what studies of one design came to under one noise.
type row struct {
	level  float64 // share that calls a difference where there is none
	better float64 // share that calls the planted effect better within so many blocks
	wrong  float64 // share that calls it worse
	margin float64 // share that calls an effect as large as the margin better
	median int     // blocks, of studies with the effect
	ninth  int     // blocks, 9 of 10 studies
}

// Print measures and prints two tables in Markdown. The first holds the noises that the method
// was chosen on, with the former method beside it, the second what was set aside.
func Print(studies int, out io.Writer) error {
	begin := time.Now()
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', 0)
	fmt.Fprintf(table, "| noise of a trial\t| different without effect\t| +2 %% better\t| +%g %% better within %d blocks\t| worse\t| blocks, median\t| 9 of 10\t| before: different\t| better\t| blocks, median\t| 9 of 10\t|\n", 100*effectPlanted, within)
	fmt.Fprintln(table, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, n := range chosenOn {
		now, err := plainDesign.measured(n, studies)
		if err != nil {
			return err
		}
		was := formerly(n, studies)
		fmt.Fprintf(table, "| %s\t%s%s\n", n.name, now.cells(), was.formerCells())
	}
	table.Flush()
	fmt.Fprintf(out, "\nSet aside while the method was chosen:\n\n")
	fmt.Fprintf(table, "| design\t| noise of a trial\t| different without effect\t| +2 %% better\t| +%g %% better within %d blocks\t| worse\t| blocks, median\t| 9 of 10\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|\n", 100*effectPlanted, within)
	for _, s := range setAside() {
		now, err := s.design.measured(s.noise, studies)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "| %s\t| %s\t%s\n", s.design.name, s.noise.name, now.cells())
	}
	table.Flush()
	_, err := fmt.Fprintf(out, "\n%d studies for each rate, margin %g %%, in %s.\n", studies, 100*margin, time.Since(begin).Round(time.Second))
	return err
}

func share(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

func (r row) cells() string {
	return fmt.Sprintf("| %s\t| %s\t| %s\t| %s\t| %d\t| %d\t|", share(r.level), share(r.margin), share(r.better), share(r.wrong), r.median, r.ninth)
}

func (r row) formerCells() string {
	return fmt.Sprintf(" %s\t| %s\t| %d\t| %d\t|", share(r.level), share(r.better), r.median, r.ninth)
}

// ended is how one simulated study ended.
type ended struct {
	differs, better, worse bool
	soon                   bool // better, within so many blocks
	blocks                 int
}

// measured runs studies without and with the effect.
func (d design) measured(n noise, studies int) (row, error) {
	var failure error
	var once sync.Once
	run := func(effect float64) []ended {
		return simulated(studies, func(seed uint64) ended {
			e, err := d.follow(n, effect, seed)
			if err != nil {
				once.Do(func() { failure = err })
			}
			return e
		})
	}
	rates := summed(run(0), run(effectPlanted))
	for _, e := range run(margin) {
		if e.better {
			rates.margin += 1 / float64(studies)
		}
	}
	return rates, failure
}

// summed turns the ends of studies without and with the effect into rates.
func summed(without, with []ended) row {
	var r row
	one := 1 / float64(len(without))
	for _, e := range without {
		if e.differs {
			r.level += one
		}
	}
	blocks := make([]int, len(with))
	for i, e := range with {
		blocks[i] = e.blocks
		if e.soon {
			r.better += one
		}
		if e.worse {
			r.wrong += one
		}
	}
	slices.Sort(blocks)
	r.median, r.ninth = blocks[len(blocks)/2], blocks[len(blocks)*9/10]
	return r
}

// simulated runs studies on all processors.
func simulated(studies int, one func(seed uint64) ended) []ended {
	all := make([]ended, studies)
	var wait sync.WaitGroup
	processors := runtime.NumCPU()
	for p := range processors {
		wait.Go(func() {
			for i := p; i < studies; i += processors {
				all[i] = one(firstSeed + uint64(i))
			}
		})
	}
	wait.Wait()
	return all
}

// study is the question of a design.
func (d design) study() *study.Study {
	f := study.Factor{Name: "null.threads", Parameter: "threads"}
	for arm := range d.arms {
		f.Levels = append(f.Levels, strconv.Itoa(arm+1))
	}
	s := &study.Study{
		Name: "truth", Headline: d.headlines, Margin: margin, Workload: study.Use{Kind: "null"}, Factors: []study.Factor{f},
		Measure: study.Measure{Looks: timing.Looks(), Warmup: time.Second, Window: time.Second},
	}
	if d.split {
		s.Factors = append([]study.Factor{{Name: "host.boot", Levels: []string{"a", "b"}, Restart: true}}, s.Factors...)
	}
	return s
}

// follow runs one study from its first trial to its findings. The effect is that
// of the last arm on every headline.
func (d design) follow(n noise, effect float64, seed uint64) (ended, error) {
	s := d.study()
	p, err := plan.New(s, seed)
	if err != nil {
		return ended{}, err
	}
	metrics := make([]measure.Metric, len(d.headlines))
	draws := make([]func(position) float64, len(d.headlines))
	for i, name := range d.headlines {
		metrics[i] = measure.Metric{Name: name, Unit: "1/s", Better: measure.HigherIsBetter}
		draws[i] = n.draw(rand.New(rand.NewPCG(seed, uint64(i)+1)))
	}
	c := table.Case{Plan: p, Study: s, Rate: "rate", Metrics: metrics}
	stolen := func() float64 { return 0 }
	if n.stolen != nil {
		stolen = n.stolen(rand.New(rand.NewPCG(seed, 99)))
	}
	course, last, soon := p.Begin(), len(p.Arms)-1, false
	for t, more := course.Next(); more; t, more = course.Next() {
		r := measure.Record{Trial: t.Number, Phase: t.Phase, Block: t.Block, Slot: t.Slot, Arm: t.Arm, Values: map[string]float64{}, Window: measure.Window{End: 1, Steady: measure.Steady}}
		share := stolen()
		if n.stolen != nil && !n.hidden {
			r.Counters = map[string]float64{"cpu.count": 2, "cpu.idle": 1, "cpu.steal": share}
		}
		for i, name := range d.headlines {
			at := position{trial: t.Number, slot: t.Slot, last: t.Arm == last}
			r.Values[name] = value(draws[i](at)-stolenSlope*share, effect, t.Arm == last)
		}
		course.Done(r)
		c.Records = append(c.Records, r)
		if now := course.Status(); now.Blocks <= within && now.Decisions != nil {
			soon = soon || !slices.ContainsFunc(now.Decisions, func(d plan.Decision) bool { return d.Arm == last && d.Answer != stat.Above })
		}
	}
	f := judge.Study(c, nil)
	e := ended{blocks: f.Blocks, better: true}
	for _, h := range f.Headlines {
		e.differs = e.differs || h.Verdict.Differs()
		e.worse = e.worse || h.Verdict == finding.Worse
		e.better = e.better && (h.Arm != last || h.Verdict == finding.Better)
	}
	e.soon = e.better && soon
	return e, nil
}
