package apply

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

// Undo reverses the changes of a journal, in reverse order. It first reads back from the
// cluster which were made, so it accepts the journal of a killed plimsoll, and one that was
// partly undone. VMs that somebody moved since are left alone, which the result reports.
func (a Applier) Undo(ctx context.Context, j *Journal) (*Result, error) {
	if a.Patience <= 0 {
		a.Patience = defaultPatience
	}
	if len(j.identity) > 0 && len(a.Connection.Identity) > 0 && !j.Concerns(a.Connection, a.Address) {
		return nil, &Refused{fmt.Sprintf("the journal is of another cluster: %q at %s", j.Cluster, j.Address)}
	}
	if _, err := a.Settle(ctx, j); err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	now, err := look(soon, a.Connection.Source)
	if err != nil {
		return nil, err
	}
	if now.Name != j.Cluster {
		return nil, &Refused{fmt.Sprintf("the journal is of the cluster %q (%s), not of %q", j.Cluster, j.Address, now.Name)}
	}
	shapes, err := a.shapes(soon, j)
	if err != nil {
		return nil, err
	}
	back, left := j.backwards(now, shapes)
	if len(back) == 0 {
		return &Result{Cluster: now.Name, Undoes: j.Name, Changes: []Outcome{}, Left: left}, nil
	}
	violated := j.violated
	if violated == nil {
		violated = map[string]int{}
	}
	result, err := a.Apply(ctx, Plan{Seen: now, Changes: back, Undoes: j.Name, Violated: violated})
	if err != nil {
		return nil, err
	}
	result.Left = left
	return result, nil
}

// backwards are the changes that reverse a journal, and why some VMs or hosts are left alone.
func (j *Journal) backwards(c *cluster.Cluster, shapes map[string]live.Shape) (back []Change, left []string) {
	now := newView(c)
	after, problems := j.paths(now)
	for i, o := range slices.Backward(j.Begun) {
		b := Change{Number: len(back) + 1, Action: o.Action, Step: o.Step, VM: o.VM, From: o.To, To: o.From, Host: o.Host, Enter: !o.Enter}
		switch o.Action {
		case live.Reshape:
			b.Enter = false
			if made, why := shaped(o, shapes); why != "" {
				left = append(left, why)
				continue
			} else if !made {
				continue
			}
		case live.Move, live.Power:
			b.Enter = false
			if i >= after[o.VM] {
				continue
			}
		default:
			was := o
			if was.find(now); was.Found == nothing {
				left = append(left, o.Host+" is no longer part of the cluster")
			}
			if was.judge(); was.What != Made {
				continue
			}
		}
		back = append(back, b)
	}
	return back, append(left, problems...)
}

// paths finds the position of each VM on its path in the journal: moves before an index were
// made, those from the index on were not made, or were reversed.
func (j *Journal) paths(now *view) (after map[string]int, problems []string) {
	after = map[string]int{}
	var vms []string
	moves := map[string][]int{}
	for i, o := range j.Begun {
		if !o.places() {
			continue
		}
		if moves[o.VM] == nil {
			vms = append(vms, o.VM)
		}
		moves[o.VM] = append(moves[o.VM], i)
	}
	for _, vm := range vms {
		at, runs := now.at[vm]
		first := j.Begun[moves[vm][0]].From
		found := at == first // both are empty if it was and is off
		for _, i := range moves[vm] {
			if at != first && j.Begun[i].To == at {
				after[vm], found = i+1, true
			}
		}
		last := j.Begun[moves[vm][len(moves[vm])-1]]
		switch {
		case found:
		case !runs:
			problems = append(problems, fmt.Sprintf("%s does not run or no longer exists", vm))
		default:
			problems = append(problems, fmt.Sprintf("%s is on %s: somebody moved it since it went to %s", vm, at, last.To))
		}
	}
	return after, problems
}

// Settle finds the outcomes of changes that a killed program left without one, and writes them
// to the journal. It returns a summary; empty if none was missing.
func (a Applier) Settle(ctx context.Context, j *Journal) (found string, err error) {
	if j.Ended || len(j.Begun) == 0 {
		return "", nil
	}
	if a.Patience <= 0 {
		a.Patience = defaultPatience
	}
	found = fmt.Sprintf("an earlier plimsoll ended after it had begun %d of %d changes", len(j.Begun), j.Of)
	l, err := reopen(j.Name)
	if err != nil {
		return "", err
	}
	defer l.close()
	for i := range j.Begun {
		o := &j.Begun[i]
		at, missing := j.at[o.Number]
		if !missing {
			continue
		}
		if o.Action == live.Reshape {
			err = a.awaitShape(ctx, o, at)
		} else {
			err = a.await(ctx, o, at)
		}
		if err != nil {
			return "", err
		}
		found += fmt.Sprintf("; %s was %s: %s", o.Change, o.What, o.where())
		if err := l.outcome(*o); err != nil {
			return "", err
		}
		delete(j.at, o.Number)
	}
	if err := l.end("the program that made the changes ended"); err != nil {
		return "", err
	}
	j.Ended = true
	return found, nil
}

// await reads back the outcome of a change that a killed program began at a given time. A
// migration may continue after its program was killed: a VM on its old host is not the outcome
// until the patience has passed.
func (a Applier) await(ctx context.Context, o *Outcome, begun time.Time) error {
	eye := follow(ctx, a.Connection.Source)
	defer eye.close()
	within, cancel := context.WithDeadline(ctx, begun.Add(a.Patience))
	defer cancel()
	err := eye.until(within, func(v *view) bool {
		o.find(v)
		o.judge()
		return o.What != NotMade
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		o.settle(ctx, a)
	}
	return nil
}
