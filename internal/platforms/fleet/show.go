package fleet

import (
	"context"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/column"
)

// Show opens the lab, waits for agents as the settings say and returns those that have joined,
// even if there are too few. As soon as agents can join, it calls tell with the command that
// starts one.
func Show(ctx context.Context, s Settings, tell func(command string)) ([]fabric.Member, error) {
	wanted, err := fabric.ParseLabels(s.Labels)
	if err != nil {
		return nil, err
	}
	room, err := enter(s)
	if err != nil {
		return nil, err
	}
	defer room.Close() //nolint:errcheck // nothing was recorded
	tell(room.Command())
	ctx, cancel := context.WithTimeout(ctx, time.Duration(s.Wait))
	defer cancel()
	if _, err := room.Lab.Await(ctx, wanted, s.Agents); err == nil {
		// The clocks are known a few round trips later.
		settled, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		<-settled.Done()
	}
	members := make([]fabric.Member, 0, s.Agents)
	for _, m := range room.Lab.Members() {
		if fabric.Matches(m.Labels, wanted) {
			members = append(members, m)
		}
	}
	return members, nil
}

// Print writes agents as a table.
func Print(w io.Writer, members []fabric.Member) error {
	t := column.NewTable(w)
	fmt.Fprintln(t, "agent\tlabels\tcores\tmemory\tsystem\tclock\tbuild")
	for _, m := range members {
		clock := "not measured"
		if m.Measured {
			clock = fmt.Sprintf("%+.3f ms ± %.3f", -m.Offset.Seconds()*1e3, m.Error.Seconds()*1e3)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%.1f GiB\t%s %s\t%s\t%s\n", m.Name, fabric.LabelText(m.Labels), m.Facts.Cores, float64(m.Facts.Memory)/(1<<30), m.Facts.OS, m.Facts.Kernel, clock, m.Facts.Version)
	}
	return t.Flush()
}
