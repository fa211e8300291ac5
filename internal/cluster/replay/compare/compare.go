// Package compare replays scenarios under several policies, and compares ours with the
// others.
package compare

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cluster/replay"
	"plimsoll/internal/cluster/replay/strategy"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/column"
)

// second is one in the milliseconds of outcomes.
const second = 1000

// Comparison holds the results of several policies in one scenario.
type Comparison struct {
	Scenario string   `json:"scenario"`
	What     string   `json:"what,omitempty"`
	Hosts    int      `json:"hosts"`
	VMs      int      `json:"vms"`
	Seconds  int64    `json:"seconds"`
	HeldOut  bool     `json:"held_out,omitempty"` // a built-in scenario that was not used for tuning
	Rows     []Result `json:"policies"`
}

// Result is one policy's outcome.
type Result struct {
	Policy string `json:"policy"`
	// Entitled demand that VMs did not receive: MHz·s and MiB·s, and as a share of all
	// entitled demand.
	ShortCPU    int64   `json:"short_cpu_mhz_s"`
	ShortMemory int64   `json:"short_memory_mib_s"`
	ShareCPU    float64 `json:"short_cpu"`
	ShareMemory float64 `json:"short_memory"`
	Moves       int     `json:"moves"`
	Aborted     int     `json:"aborted,omitempty"`
	Refused     int     `json:"refused,omitempty"`
	Copied      int64   `json:"copied_bytes"`
	Flaps       int     `json:"flaps"`
	Violated    int64   `json:"violated_s"`
	Draining    int64   `json:"draining_s"`
	Overload    int64   `json:"overload_s"`
	// Decision is the maximum and the median duration of a round, in seconds.
	Decision [2]float64 `json:"decision_s"`
	// Within is our own policy with as many moves as this rival made; absent for others.
	Within *Result    `json:"plimsoll_within,omitempty"`
	Log    []LogEntry `json:"log,omitempty"`
}

// LogEntry is an entry of the log, with names.
type LogEntry struct {
	Second float64 `json:"s"`
	VM     string  `json:"vm"`
	From   string  `json:"from,omitempty"`
	To     string  `json:"to"`
	Reason string  `json:"reason"`
	Took   float64 `json:"took_s"`
}

// Scenario runs a scenario under policies. Rivals are also compared with our own policy,
// limited to the number of their moves.
func Scenario(ctx context.Context, s *scenario.Scenario, kinds []strategy.Kind) (*Comparison, error) {
	c := &Comparison{Scenario: s.Name, What: s.What, Hosts: len(s.Cluster.Hosts), VMs: len(s.Cluster.VMs), Seconds: s.Length}
	ours := within{by: map[int]*Result{}, most: strategy.Unlimited}
	for _, k := range kinds {
		p := k.New()
		o, err := replay.Run(ctx, s, p)
		if err != nil {
			return nil, fmt.Errorf("replay %s under %s: %w", s.Name, k.Name, err)
		}
		row := result(k.Name, s, o)
		if own, is := p.(*strategy.Own); is {
			ours.free, ours.most = row, own.Needed()
		}
		if k.Rival {
			if row.Within, err = ours.moves(ctx, s, o.Moves); err != nil {
				return nil, fmt.Errorf("replay %s under plimsoll with %d moves: %w", s.Name, o.Moves, err)
			}
		}
		c.Rows = append(c.Rows, row)
	}
	return c, nil
}

// within is our own policy with limits on the number of moves.
type within struct {
	by   map[int]*Result
	free Result // without a limit
	most int    // number of moves from which on a limit has no effect
}

// moves is the result with a limit of moves; each limit is run once.
func (w *within) moves(ctx context.Context, s *scenario.Scenario, n int) (*Result, error) {
	n = min(n, w.most)
	if w.by[n] == nil {
		r := w.free
		if n < w.most {
			o, err := replay.Run(ctx, s, strategy.NewOwn(n))
			if err != nil {
				return nil, err
			}
			r = result("plimsoll", s, o)
		}
		r.Log = nil
		w.by[n] = &r
	}
	own := *w.by[n]
	return &own, nil
}

func result(name string, s *scenario.Scenario, o *replay.Outcome) Result {
	share := func(part, whole int64) float64 { return float64(part) / float64(max(1, whole)) }
	r := Result{
		Policy: name, ShortCPU: o.Short.CPU / second, ShortMemory: o.Short.Memory / second, ShareCPU: share(o.Short.CPU, o.Entitled.CPU),
		ShareMemory: share(o.Short.Memory, o.Entitled.Memory), Moves: o.Moves, Aborted: o.Aborted, Refused: o.Refused, Copied: o.Copied,
		Flaps: o.Flaps, Violated: o.Violated / second, Draining: o.Draining / second, Overload: o.Overload / second,
	}
	for _, e := range o.Log {
		t := LogEntry{Second: float64(e.At) / second, VM: s.Cluster.VMs[e.VM].Name, To: s.Cluster.Hosts[e.To].Name, Reason: e.Reason, Took: float64(e.Took) / second}
		if e.From >= 0 {
			t.From = s.Cluster.Hosts[e.From].Name
		}
		r.Log = append(r.Log, t)
	}
	if d := slices.Clone(o.Decisions); len(d) > 0 {
		slices.Sort(d)
		r.Decision = [2]float64{d[len(d)-1].Seconds(), d[len(d)/2].Seconds()}
	}
	return r
}

// Text writes a comparison as a table.
func (c *Comparison) Text(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %s\n%d hosts, %d VMs, %s\n\n", c.Scenario, c.What, c.Hosts, c.VMs, time.Duration(c.Seconds)*time.Second)
	t := column.NewTable(b)
	fmt.Fprintln(t, "POLICY\tCPU SHORT\tMEMORY SHORT\tMOVES\tCOPIED\tFLAPS\tVIOLATED\tEMPTYING")
	for i := range c.Rows {
		r := &c.Rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%d\t%d s\t%d s\n", r.Policy, short(r.ShareCPU), short(r.ShareMemory), r.Moves, size(r.Copied), r.Flaps, r.Violated, r.Draining)
	}
	fmt.Fprintln(t, "\nPOLICY\tLONGEST DECISION\tPLIMSOLL WITH AS FEW MOVES")
	for i := range c.Rows {
		r := &c.Rows[i]
		within := ""
		if r.Within != nil {
			within = fmt.Sprintf("%s, %s, %d moves", short(r.Within.ShareCPU), short(r.Within.ShareMemory), r.Within.Moves)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Policy, time.Duration(r.Decision[0]*1e9).Round(10*time.Microsecond), within)
	}
	t.Flush()
	for i := range c.Rows {
		c.Rows[i].moves(b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// moves writes the log, if it was kept.
func (r *Result) moves(b *strings.Builder) {
	if len(r.Log) == 0 {
		return
	}
	fmt.Fprintf(b, "\nMoves of %s\n", r.Policy)
	for _, e := range r.Log {
		from := "start"
		if e.From != "" {
			from = e.From
		}
		fmt.Fprintf(b, "  %9s  %s: %s -> %s, %s (%.0f s)\n", time.Duration(e.Second*1e9).Round(time.Second), e.VM, from, e.To, e.Reason, e.Took)
	}
}

// size is a number of bytes with at most four digits.
func size(bytes int64) string {
	if gib := bytes >> 30; gib < 10_000 {
		return fmt.Sprintf("%d GiB", gib)
	}
	return fmt.Sprintf("%d TiB", bytes>>40)
}

// short is a shortfall as text.
func short(x float64) string {
	if x == 0 {
		return "0"
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}
