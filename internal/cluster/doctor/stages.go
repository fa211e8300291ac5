package doctor

import (
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/stage"
	"plimsoll/internal/cluster/doctor/words"
	"plimsoll/internal/cluster/migrate"
)

// Stages are the moves of a round by time: the moves of a stage in parallel, the next stage
// after all of them.
type Stages struct {
	Stages  []Stage `json:"stages"`
	Moves   int     `json:"moves"`
	Seconds int64   `json:"seconds"` // expected total duration
}

// Stage is moves that run concurrently.
type Stage struct {
	Number  int        `json:"number"`
	Seconds int64      `json:"seconds"` // expected duration of the longest migration
	Moves   []Transfer `json:"moves"`
	// Stopped are VMs that are paused meanwhile: they dirty memory faster than it can be
	// copied.
	Stopped []string `json:"stopped,omitempty"`
}

// Transfer is the move of a VM to another host. Step is the number of the move in the report;
// From is empty for a VM that starts.
type Transfer struct {
	Step int    `json:"step,omitempty"`
	VM   string `json:"vm"`
	From string `json:"from,omitempty"`
	To   string `json:"to"`
}

// Staged groups the moves of a round into stages. They are those of Look.
func Staged(c *cluster.Cluster, o advice.Options) *Stages {
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	plan := balance.Round(l, x, o)
	t := stage.Make(l, x, plan, migrate.Limits{})
	s := &Stages{Stages: []Stage{}, Moves: len(plan.Moves), Seconds: t.Seconds}
	for n, stage := range t.Stages {
		out := Stage{Number: n + 1, Seconds: stage.Seconds}
		for _, i := range stage.Moves {
			m := transfer(c, plan.Moves[i].VM, plan.Moves[i].From, plan.Moves[i].To)
			m.Step = plan.Moves[i].Number
			out.Moves = append(out.Moves, m)
		}
		for _, v := range stage.Stopped {
			out.Stopped = append(out.Stopped, c.VMs[v].Name)
		}
		s.Stages = append(s.Stages, out)
	}
	return s
}

func transfer(c *cluster.Cluster, v cluster.VMID, from, to cluster.HostID) Transfer {
	t := Transfer{VM: c.VMs[v].Name, To: c.Hosts[to].Name}
	if from != cluster.Nowhere {
		t.From = c.Hosts[from].Name
	}
	return t
}

// mostStaged is the maximum number of moves reported per stage.
const mostStaged = 24

func (s *Stages) write(b *strings.Builder) {
	if s.Moves == 0 {
		words.Section(b, "Stages", []string{"nothing moves"})
		return
	}
	var lines []string
	for i := range s.Stages {
		stage := &s.Stages[i]
		lines = append(lines, fmt.Sprintf("%d. %s, %d s", stage.Number, words.Count(len(stage.Moves), "move"), stage.Seconds))
		for _, m := range stage.Moves[:min(len(stage.Moves), mostStaged)] {
			lines = append(lines, "   "+m.said())
		}
		if more := len(stage.Moves) - mostStaged; more > 0 {
			lines = append(lines, fmt.Sprintf("   and %d more (--json lists all)", more))
		}
		for _, name := range stage.Stopped {
			lines = append(lines, "   "+name+" is paused meanwhile: it dirties memory faster than it can be copied")
		}
	}
	lines = append(lines, fmt.Sprintf("%s in %s, %d s in all", words.Count(s.Moves, "move"), words.Count(len(s.Stages), "stage"), s.Seconds))
	words.Section(b, "Stages: the moves of a stage run in parallel", lines)
}

// Planned is a report with optional parts: its moves in stages, and its distance from the
// best layout. Either may be nil.
type Planned struct {
	*Report
	Timetable *Stages `json:"timetable,omitempty"`
	Exact     *Exact  `json:"exact,omitempty"`
}

// Text writes the report for an operator, then the optional parts.
func (p *Planned) Text(w io.Writer) error {
	if err := p.Report.Text(w); err != nil {
		return err
	}
	b := &strings.Builder{}
	if p.Timetable != nil {
		p.Timetable.write(b)
	}
	if p.Exact != nil {
		p.Exact.write(b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// said is a VM's move as text.
func (t Transfer) said() string {
	if t.From == "" {
		return fmt.Sprintf("%s starts on %s", t.VM, t.To)
	}
	return fmt.Sprintf("%s from %s to %s", t.VM, t.From, t.To)
}
