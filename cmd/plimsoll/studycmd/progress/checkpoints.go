package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/trial"
)

// Checkpoints shows those of guests with a standby each second while a load runs, on standard output, and the phases of the run
// on standard error.
func Checkpoints(s *cli.Screen, asJSON bool) func(trial.Event) {
	return (&checkpoints{out: s.Out, err: s.Err, json: asJSON, began: time.Now()}).take
}

// checkpoints shows those of guests while a load runs.
type checkpoints struct {
	out, err io.Writer
	json     bool
	began    time.Time
	phase    trial.Phase
}

// checkpointLine is what is told of a guest each second.
type checkpointLine struct {
	Elapsed     float64 `json:"elapsed"`           // s
	Machine     string  `json:"machine,omitempty"` // empty where the study has one
	Checkpoints float64 `json:"checkpoints"`       // per second
	Pause       float64 `json:"pause"`             // s, mean
	Copied      float64 `json:"copied"`            // bytes per second
	OutputDelay float64 `json:"output_delay"`      // s, mean
	Failovers   float64 `json:"failovers"`         // per second
}

func (c *checkpoints) take(e trial.Event) {
	if e.Note != "" {
		fmt.Fprintln(c.err, e.Note)
	}
	if e.Phase != c.phase && e.Phase != "" {
		c.phase = e.Phase
		fmt.Fprintf(c.err, "%3.0f s  %s\n", time.Since(c.began).Seconds(), e.Phase)
	}
	for _, m := range e.Counters {
		if len(m.Checkpoints) == 0 {
			continue
		}
		v := m.Checkpoints
		l := checkpointLine{
			Elapsed: time.Since(c.began).Seconds(), Machine: m.Machine, Checkpoints: v["guest.checkpoints"], Pause: v["guest.pause"],
			Copied: v["guest.copied"], OutputDelay: v["guest.output_delay"], Failovers: v["guest.failovers"],
		}
		if err := c.show(l); err != nil {
			fmt.Fprintln(c.err, err)
		}
	}
}

func (c *checkpoints) show(l checkpointLine) error {
	if c.json {
		text, err := json.Marshal(l)
		if err == nil {
			_, err = fmt.Fprintf(c.out, "%s\n", text)
		}
		return err
	}
	begin := fmt.Sprintf("%3.0f s  ", l.Elapsed)
	if l.Machine != "" {
		begin += l.Machine + "  "
	}
	_, err := fmt.Fprintf(c.out, "%s%4.1f checkpoints/s  pause %5.1f ms  copied %6.2f MB/s  output delayed by %5.1f ms\n", begin, l.Checkpoints, 1000*l.Pause, l.Copied/1e6, 1000*l.OutputDelay)
	if l.Failovers > 0 {
		_, failed := fmt.Fprintf(c.out, "%sits standby has taken over\n", begin)
		err = errors.Join(err, failed)
	}
	return err
}
