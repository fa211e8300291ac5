package clustercmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/console"
	"plimsoll/internal/hostlock"
	"plimsoll/internal/live/apply"
	"plimsoll/internal/trial/journal"
)

// journals is the folder of the journals of this user.
func journals() (string, error) {
	state, err := journal.StateFolder()
	if err != nil {
		return "", cli.Mistake(fmt.Errorf("find the folder of journals: %w: set HOME or XDG_STATE_HOME", err))
	}
	return filepath.Join(state, "live"), nil
}

// newJournal names a journal so that the newest is listed last.
func newJournal(folder string) string {
	const letters = 4
	return filepath.Join(folder, time.Now().UTC().Format("20060102T150405.000000Z-")+rand.Text()[:letters]+".jsonl")
}

// onCluster does something to a live cluster that nobody else on this host may change meanwhile
// with plimsoll. A signal ends the context: a running change is cancelled or waited for.
func (h *hand) onCluster(ctx context.Context, do func(context.Context, *session) error) error {
	console.Survive() // a reader of the output that goes away
	ctx, stop := stoppable(ctx)
	defer stop()
	unhook := context.AfterFunc(ctx, func() {
		fmt.Fprintln(h.from.clusters.Err, "plimsoll: stopping: a running change is cancelled or waited for; a second Ctrl-C ends at once, and undo finds out what happened")
	})
	defer unhook() // before the context ends by itself
	s, err := h.from.open(ctx)
	if err != nil {
		return err
	}
	release, err := s.lock(ctx)
	if err != nil {
		return s.close(err)
	}
	defer release()
	if err := h.settle(ctx, s); err != nil {
		return s.close(err)
	}
	return s.close(do(ctx, s))
}

// lock keeps other processes on this host from changing the same cluster, whatever address they
// reach it by.
func (s *session) lock(ctx context.Context) (release func(), err error) {
	folder, err := journals()
	if err != nil {
		return nil, err
	}
	at := s.address
	at.User = ""
	names := []string{"/live/" + at.String()}
	if len(s.connection.Identity) > 0 {
		names = nil
	}
	for _, name := range s.connection.Identity {
		names = append(names, "/live/"+name)
	}
	release, err = hostlock.Take(ctx, hostlock.Claim{Run: rand.Text(), Dir: folder, Names: names})
	if held := (*hostlock.HeldError)(nil); errors.As(err, &held) {
		return nil, cli.Mistake(fmt.Errorf("process %d of user %d is changing %s: wait until it ends", held.Process, held.User, at))
	}
	return release, err
}

// several names changes.
func several(list []apply.Change) string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return strings.Join(texts, ", ")
}

// settle finds the outcomes of unfinished journals of this cluster, and
// says so.
func (h *hand) settle(ctx context.Context, s *session) error {
	folder, err := journals()
	if err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return fmt.Errorf("list the journals: %w", err)
	}
	for _, name := range append(names, h.undone...) {
		j, err := apply.ReadJournal(name)
		if err != nil || j.Ended || !j.Concerns(s.connection, s.address.String()) {
			continue
		}
		if list, at := j.Pending(); len(list) > 0 {
			fmt.Fprintf(h.from.clusters.Err, "plimsoll: note: an earlier plimsoll was killed after %s, when it was to %s: finding out whether that happened, for up to two minutes since\n", at.Format(time.RFC3339), several(list))
		}
		found, err := apply.Applier{Connection: s.connection}.Settle(ctx, j)
		if err != nil {
			return fmt.Errorf("find out how %s ended: %w", name, cmp.Or(context.Cause(ctx), err))
		}
		if found != "" {
			fmt.Fprintf(h.from.clusters.Err, "plimsoll: note: %s; to go back: plimsoll cluster undo %s --live URL\n", found, name)
		}
	}
	return nil
}
