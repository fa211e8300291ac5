package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/intervene"
	"plimsoll/internal/lab/tunable"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
	"plimsoll/internal/trial/requirement"
	"plimsoll/internal/tune"
)

// Preview is the plan of a run, determined without changing anything.
type Preview struct {
	Study    *study.Study
	Plan     *plan.Plan
	Trials   []plan.Trial // if all planned blocks are needed
	Estimate plan.Estimate
	Budget   plan.Budget
	Needs    *trial.Needs
	Virtual  bool // time is simulated: the run takes seconds
	// Longest is the duration if no load reaches a steady state; 0 if that cannot happen.
	Longest time.Duration
	Tunes   []tunable.Setting // what plimsoll tune may change; nil without a goal
	Unsafe  []string          // levels of the study that can lose data or weaken security, as FACTOR=LEVEL
	known   *requirement.Known
}

// Plannable reports whether a study can be planned, on whatever machine.
func Plannable(request Request) error {
	if _, err := plan.New(request.Source.Study, request.Seed); err != nil {
		return &mistake{err}
	}
	return nil
}

// Preview plans a run and checks the machine's prerequisites. Its errors are mistakes: of the
// study, and missing prerequisites.
func (l *Lab) Preview(ctx context.Context, request Request) (*Preview, error) {
	preview, pf, err := l.preview(ctx, request)
	if err != nil {
		return nil, err
	}
	return preview, pf.Close()
}

// preview also returns the open platform, with the machines that were checked.
func (l *Lab) preview(ctx context.Context, request Request) (_ *Preview, _ platform.Platform, err error) {
	s := request.Source.Study
	p, err := plan.New(s, request.Seed)
	if err != nil {
		return nil, nil, &mistake{err}
	}
	pf, err := l.open(ctx, s.Platform, request.Seed)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, pf.Close())
		}
	}()
	dir, err := filepath.Abs(request.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("find results folder: %w", err)
	}
	bench := &trial.Bench{Study: s, Plan: p, Catalog: l.Catalog, Platform: pf, Dir: dir, Scratch: scratch(pf, dir), Version: l.Version, Known: &requirement.Known{}}
	needs, err := bench.Check(ctx)
	if err != nil {
		return nil, nil, &mistake{err}
	}
	_, virtual := pf.(platform.Simulator)
	perTrial := trial.Length(s)
	if needs.Anew {
		perTrial += needs.Time
	}
	preview := &Preview{
		Study: s, Plan: p, Trials: slices.Collect(p.Trials()),
		Estimate: p.Estimate(perTrial), Budget: p.Budget(0, perTrial), Needs: needs, Virtual: virtual, known: bench.Known,
	}
	preview.Tunes, preview.Unsafe = tunable.Of(l.Catalog, s), tunable.UnsafeLevels(l.Catalog, s)
	if longest := trial.Longest(s); longest > 0 {
		preview.Longest = p.Estimate(perTrial + longest - trial.Length(s)).Time
	}
	return preview, pf, nil
}

// PrintPreview writes a preview as text.
func PrintPreview(w io.Writer, p *Preview) error {
	b := &strings.Builder{}
	s := p.Study
	fmt.Fprintf(b, "%s: %s\n\n", s.Name, s.Question)
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "platform\t%s\n", use(s.Platform))
	if !s.Tiled() {
		fmt.Fprintf(table, "workload\t%s\n", use(s.Workload))
	}
	printMachines(table, s)
	if s.Service != nil {
		where := ""
		if s.Hosted {
			where = ", on this host, with the disks of the machines"
		}
		fmt.Fprintf(table, "service\t%s%s\n", use(*s.Service), where)
	}
	for _, f := range s.Factors {
		fmt.Fprintf(table, "factor\t%s: %s\n", f.FullName(), strings.Join(f.Levels, ", "))
	}
	for _, t := range p.Tunes {
		fmt.Fprintf(table, "tune tries\t%s\n", t)
	}
	if p.Tunes != nil && p.Estimate.Trials > 0 {
		least, most := tune.Trials(s, tunable.Levels(p.Tunes))
		per := p.Estimate.Time / time.Duration(p.Estimate.Trials)
		fmt.Fprintf(table, "tune time\t%s, in %d to %d trials\n", span(time.Duration(least)*per, time.Duration(most)*per), least, most)
	}
	fmt.Fprintf(table, "seed\t%d\n", p.Plan.Seed)
	fmt.Fprintf(table, "trials\t%s\n", amount(p.Estimate))
	fmt.Fprintf(table, "time\t%s%s\n", span(p.Estimate.LeastTime, p.Estimate.Time), beyond(p))
	if s.Measure.Intervene {
		fmt.Fprintf(table, "interventions\tafter a decided effect up to %d more runs of 4 arms, with %d to %d blocks each\n", mostInterventions, intervene.LeastBlocks, intervene.MostBlocks)
	}
	if p.Needs.Time >= 10*time.Second {
		when := "before the first trial"
		if p.Needs.Anew {
			when = "in each trial"
		}
		fmt.Fprintf(table, "preparation\t%s, %s\n", span(p.Needs.Time, p.Needs.Time), when)
	}
	fmt.Fprintf(table, "disk space\t%s\n%s", parameter.Bytes(p.Needs.Disk).About(), host(p.Needs.Host))
	for _, name := range slices.Sorted(maps.Keys(p.Needs.Versions)) {
		fmt.Fprintf(table, "uses\t%s %s\n", name, p.Needs.Versions[name])
	}
	table.Flush()
	printChanges(b, p)
	for i, level := range p.Unsafe {
		if i == 0 {
			fmt.Fprintln(b, "\nUnsafe levels, which can lose data or weaken security:")
		}
		fmt.Fprintf(b, "  %s\n", level)
	}
	fmt.Fprintf(b, "\n%s\n", p.Budget.Sentence)
	printTrials(b, p)
	_, err := io.WriteString(w, b.String())
	return err
}

// printMachines writes the kinds of machines, and the operations beside them.
func printMachines(table io.Writer, s *study.Study) {
	for _, g := range s.Groups {
		what := "machines"
		if s.Tiled() && !g.Twin {
			what = "in each tile"
		}
		fmt.Fprintf(table, "%s\t%s\n", what, group(g, s.Workload))
	}
	for _, o := range s.Operations {
		fmt.Fprintf(table, "operations\t%s\n", o)
	}
}

// host is the row of what a study takes of the host of its machines, where they have disks in a service there.
func host(h trial.HostNeeds) string {
	if h.Memory == 0 {
		return ""
	}
	text := fmt.Sprintf("this host\tup to %s of memory for the service and the machines", parameter.Bytes(h.Memory).About())
	if h.Disk > 0 {
		text += fmt.Sprintf(", and %s of disk space with full disks of the machines", parameter.Bytes(h.Disk).About())
	}
	return text + "\n"
}

// group is one kind of machines in one line, of a study with a workload.
func group(g study.Group, of study.Use) string {
	text := fmt.Sprint(g.Machines)
	if g.Name != "" {
		text = g.Name + ": " + text
	}
	switch {
	case g.Subject && (len(g.Limits) > 0 || g.Reference > 0): // as the other members of its tile
		text += ", with workload " + use(of)
	case g.Subject:
		text += ", with the workload"
	case g.Workload != nil:
		text += ", with workload " + use(*g.Workload)
	}
	if g.Serves {
		text += ", with the service"
	}
	if g.Service != nil {
		text += ", with service " + use(*g.Service)
	}
	if g.Elastic != nil {
		text += ", " + g.Elastic.String()
	}
	for _, l := range g.Limits {
		text += ", " + l.String()
	}
	if g.Reference > 0 {
		text += ", reference " + parameter.Rate(g.Reference).String()
	}
	if len(g.Settings) > 0 {
		text += use(study.Use{Settings: g.Settings})
	}
	return text
}

// use is a kind with its settings in one line.
func use(u study.Use) string {
	var settings []string
	for _, name := range slices.Sorted(maps.Keys(u.Settings)) {
		settings = append(settings, name+": "+u.Settings[name])
	}
	if settings == nil {
		return u.Kind
	}
	return u.Kind + " (" + strings.Join(settings, ", ") + ")"
}

func amount(e plan.Estimate) string {
	if e.Least == e.Trials {
		return fmt.Sprint(e.Trials)
	}
	return fmt.Sprintf("%d to %d: it stops at the first look that decides", e.Least, e.Trials)
}

func span(least, most time.Duration) string {
	round := func(d time.Duration) string { return parameter.Duration(d.Round(time.Second)).String() }
	if round(least) == round(most) {
		return "about " + round(most)
	}
	return "about " + round(least) + " to " + round(most)
}

// beyond is what the time estimate leaves out.
func beyond(p *Preview) string {
	switch {
	case p.Virtual:
		return ", simulated in seconds"
	case p.Longest > p.Estimate.Time && p.Study.Load.Peak != nil:
		return fmt.Sprintf("; up to %s if low rates need longer probes for the quantile", parameter.Duration(p.Longest.Round(time.Second)))
	case p.Longest > p.Estimate.Time:
		return fmt.Sprintf("; up to %s where loads do not settle before measure.longest", parameter.Duration(p.Longest.Round(time.Second)))
	}
	return ""
}

func printChanges(b *strings.Builder, p *Preview) {
	fmt.Fprintln(b, "\nChanges to the host:")
	none := true
	for _, name := range slices.Sorted(maps.Keys(p.Estimate.Changes)) {
		none = false
		fmt.Fprintf(b, "  sets %s up to %d times, and restores it%s\n", name, p.Estimate.Changes[name], located(p.Needs.Sets[name]))
	}
	for _, change := range p.Needs.Changes {
		none = false
		fmt.Fprintf(b, "  %s\n", change)
	}
	if none {
		fmt.Fprintln(b, "  none outside the results folder")
	}
}

// located names the kernel settings of a factor without a target.
func located(sets []string) string {
	const most = 2
	switch {
	case len(sets) == 0:
		return ""
	case len(sets) > most:
		return fmt.Sprintf("\n    %s and %d more", sets[0], len(sets)-1)
	}
	return "\n    " + strings.Join(sets, "\n    ")
}

// printTrials lists every trial, one block per line.
func printTrials(b *strings.Builder, p *Preview) {
	fmt.Fprintln(b, "\nTrials, one block per line:")
	block := 0
	for _, t := range p.Trials {
		if t.Block != block {
			if block != 0 {
				b.WriteByte('\n')
			}
			block = t.Block
			fmt.Fprintf(b, "  %2d:", block)
		}
		fmt.Fprintf(b, " [%s]", p.Plan.Arms[t.Arm].Label)
	}
	b.WriteByte('\n')
}
