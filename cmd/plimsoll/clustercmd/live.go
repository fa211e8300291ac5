package clustercmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
	"plimsoll/internal/parameter"
)

// addresses explains the addresses of live clusters.
func addresses(kinds []live.Kind) string {
	var b strings.Builder
	b.WriteString("Addresses of live clusters:\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "  %s\n      %s\n", k.Example, k.Doc)
	}
	b.WriteString("Credentials are references, file:PATH or env:NAME, and never part of the address.")
	return b.String()
}

// origin is where a command finds its cluster: a snapshot, its first argument, or a live one.
type origin struct {
	clusters *clusters
	url      string
	observe  time.Duration
	keeps    func() bool // whether a snapshot is written
}

// origin adds the flags that have a live cluster take the place of the snapshot.
func (c *clusters) origin(cmd *cobra.Command) *origin {
	o := &origin{clusters: c}
	o.flag(cmd)
	cmd.Flags().DurationVar(&o.observe, "observe", 0, "watch the live cluster for this `time` first, for more samples of demand, such as 5m")
	o.keeps = func() bool { return cmd.Flags().Changed("out") }
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if o.url == "" {
			if o.observe != 0 {
				return errors.New("--observe requires --live")
			}
			return check(cmd, args)
		}
		if err := check(cmd, append([]string{o.url}, args...)); err != nil {
			if len(args) > 0 && check(cmd, args) == nil {
				return fmt.Errorf("--live replaces SNAPSHOT: remove %s", args[0])
			}
			if _, rest, _ := strings.Cut(cmd.Use, " SNAPSHOT "); rest != "" {
				return fmt.Errorf("--live replaces SNAPSHOT; the other arguments are %s", rest)
			}
			return fmt.Errorf("--live replaces SNAPSHOT: %w", err)
		}
		return nil
	}
	return o
}

func (o *origin) flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.url, "live", "", "the `URL` of a live cluster, in place of a snapshot; see plimsoll cluster --help")
}

// read reads the cluster, and gives the arguments that are not its name.
func (o *origin) read(ctx context.Context, args []string) (*cluster.Cluster, []string, error) {
	if o.url == "" {
		cl, err := readCluster(args[0])
		if err != nil {
			return nil, nil, err
		}
		return cl, args[1:], nil
	}
	ctx, stop := stoppable(ctx)
	defer stop()
	s, err := o.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	cl, err := s.look(ctx, o.observe)
	if err == nil && o.keeps() {
		cl = s.addPolicies(ctx, cl, o.clusters.Screen)
	}
	return cl, args, s.close(err)
}

// stoppable ends a context by the signals that ask a program to end; the second one ends the
// program.
func stoppable(ctx context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// session is an open connection to a live cluster.
type session struct {
	connection live.Connection
	address    live.Address
}

// open connects to the live cluster.
func (o *origin) open(ctx context.Context) (*session, error) {
	at, err := live.ParseAddress(o.url)
	if err != nil {
		return nil, cli.Mistake(fmt.Errorf("--live: %w", err))
	}
	var schemes []string
	for _, k := range o.clusters.kinds {
		if schemes = append(schemes, k.Scheme); k.Scheme != at.Scheme {
			continue
		}
		connection, err := k.Open(ctx, at)
		if mistake := (*live.Mistake)(nil); errors.As(err, &mistake) {
			return nil, cli.Mistake(mistake.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		return &session{connection, at}, nil
	}
	if near := parameter.Nearest(at.Scheme, schemes); near != "" {
		return nil, cli.Mistake(fmt.Errorf("--live: unknown kind of cluster %q; did you mean %q?", at.Scheme, near))
	}
	return nil, cli.Mistake(fmt.Errorf("--live: unknown kind of cluster %q; known: %s", at.Scheme, strings.Join(schemes, ", ")))
}

// close ends the session. An error before counts more than one of the end, which may follow from it.
func (s *session) close(before error) error {
	if err := s.connection.Close(); err != nil && before == nil {
		return fmt.Errorf("disconnect from %s: %w", s.address, err)
	}
	return before
}

// errSeen ends a watch that has seen enough.
var errSeen = errors.New("seen")

// look is the cluster as it is once it was observed for a time.
func (s *session) look(ctx context.Context, observe time.Duration) (*cluster.Cluster, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var seen *cluster.Cluster
	var over *time.Timer
	lost := false
	err := s.connection.Source.Watch(ctx, func(step live.Step) error {
		for _, e := range step.Events {
			if e.Host == "" && (e.Kind == live.ControlLost || e.Kind == live.ControlBack) {
				lost = e.Kind == live.ControlLost
			}
		}
		now := *step.Cluster
		now.At = time.Now().UTC().Format(time.RFC3339) // by the clock of this host, as all rounds of a ledger
		if seen = &now; observe <= 0 {
			return errSeen
		}
		if over == nil {
			over = time.AfterFunc(observe, enough)
		}
		return nil
	})
	if over != nil && !over.Stop() && !lost { // observed as long as was asked for
		return seen, nil
	}
	switch {
	case lost:
		return nil, fmt.Errorf("observe %s: the control plane was lost, and has not returned", s.address)
	case errors.Is(err, errSeen):
		return seen, nil
	}
	return nil, fmt.Errorf("read %s: %w", s.address, err)
}
