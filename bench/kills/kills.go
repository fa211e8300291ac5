// Package kills kills runs of studies at random instants, and looks whether the host is put back
// and whether every trial that had ended is kept.
package kills

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/hosttest"
)

// campaign kills runs of studies at random instants and looks whether the host is put back and
// whether trials that had ended are kept.
type campaign struct {
	kills int
	seed  uint64
	kinds []string
	limit time.Duration
	dir   string // of the programs, of studies and of results
	chance
	tallies map[string]*tally
}

// whole is how long a run took that was not killed, and how many trials it had.
type whole struct {
	length time.Duration
	trials int
}

// left is about how long the rest of a run takes of which so many trials have ended: beginning and end take as long as a trial.
func (w whole) left(ended int) time.Duration {
	return w.length * time.Duration(max(w.trials-ended, 0)+1) / time.Duration(w.trials+1)
}

type chance struct{ *rand.Rand }

// tally is what became of the kills of a kind.
type tally struct {
	kills, restores                            int
	inEffect                                   int // kills while a setting was at another level than before the run
	differences, lost, changed, repeated, ends int
}

func (t *tally) failed() bool {
	return t.differences+t.lost+t.changed+t.repeated+t.ends > 0
}

func (t *tally) add(u *tally) {
	t.kills += u.kills
	t.inEffect += u.inEffect
	t.restores += u.restores
	t.differences += u.differences
	t.lost += u.lost
	t.changed += u.changed
	t.repeated += u.repeated
	t.ends += u.ends
}

// campaigning is the argument that starts a campaign, and contained the one that goes on with
// it in namespaces of its own.
const (
	campaigning = "kills"
	contained   = "kills-contained"
)

// Run runs a campaign where the arguments ask for one, and says whether they did.
func Run(args []string) (ran bool, err error) {
	if len(args) == 0 || args[0] != campaigning && args[0] != contained {
		return false, nil
	}
	c := campaign{tallies: map[string]*tally{}}
	f := flag.NewFlagSet(campaigning, flag.ContinueOnError)
	f.IntVar(&c.kills, "kills", 100, "how many kills")
	f.Uint64Var(&c.seed, "seed", 1, "seed of every random choice")
	f.DurationVar(&c.limit, "time", time.Hour, "begin no study after this time")
	kinds := f.String("kinds", strings.Join(kindNames(), ","), "kinds of studies, in turn")
	if err := f.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return true, nil
		}
		return true, err
	}
	c.kinds = strings.Split(*kinds, ",")
	for _, name := range c.kinds {
		if !slices.Contains(kindNames(), name) {
			return true, fmt.Errorf("there is no kind %q of studies; known: %s", name, strings.Join(kindNames(), ", "))
		}
	}
	if args[0] == campaigning {
		return true, contain(args[1:])
	}
	return true, c.run()
}

// contain builds the programs and runs the campaign in namespaces of its own.
func contain(args []string) (err error) {
	if why := hosttest.Lacking(); why != "" {
		return errors.New(why)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("/tmp", "plimsoll-kills-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // servers that run as nobody have to reach it
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "./cmd/plimsoll", "./cmd/plimsoll-agent", "./bench")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	c := hosttest.Command(ctx, append([]string{filepath.Join(dir, "bench"), contained}, args...)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	return c.Run()
}

// run makes the kills, study after study, and prints what became of them.
func (c *campaign) run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c.dir, c.chance = filepath.Dir(self), chance{rand.New(rand.NewPCG(c.seed, 0))}
	var troubles []error
	usable := slices.DeleteFunc(slices.Clone(c.kinds), func(name string) bool {
		c.tallies[name] = &tally{}
		why := kindOf(name).lacks()
		if why != "" {
			fmt.Fprintf(os.Stderr, "%s is left out: %s\n", name, why)
		}
		return why != ""
	})
	if len(usable) == 0 {
		return errors.New("no kind of study can run here")
	}
	lengths := map[string]whole{}
	began, done := time.Now(), 0
	for turn := 0; done < c.kills && time.Since(began) < c.limit; turn++ {
		name := usable[turn%len(usable)]
		from := time.Now()
		n, err := c.study(name, turn, min(c.kills-done, 3), lengths)
		done += n
		fmt.Fprintf(os.Stderr, "%s: %d kills in %v, %d of %d\n", name, n, time.Since(from).Round(time.Second), done, c.kills)
		if err != nil {
			troubles = append(troubles, fmt.Errorf("%s, turn %d: %w", name, turn, err))
			fmt.Fprintln(os.Stderr, troubles[len(troubles)-1])
		}
		if len(troubles) > 10 {
			break
		}
	}
	failed := c.print(os.Stdout)
	if failed || len(troubles) > 0 {
		return errors.Join(append(troubles, errors.New("kills left differences or lost trials, or a study did not end"))...)
	}
	return nil
}

// study runs one study, which is killed so often, and counts what went wrong.
func (c *campaign) study(name string, turn, kills int, lengths map[string]whole) (done int, err error) {
	k := kindOf(name)
	if k.host {
		release, err := hosttest.Lock()
		if err != nil {
			return 0, err
		}
		defer release()
	}
	s := &scene{
		kind: k, campaign: c, tally: c.tallies[name], name: fmt.Sprintf("%s-%d", name, turn),
		dir: filepath.Join(c.dir, fmt.Sprintf("%s-%d", name, turn)),
	}
	if err := s.open(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, known := lengths[name]; !known && k.events == 0 { // without a kill, to know how long it takes
		from := time.Now()
		if err := s.whole(); err != nil {
			return 0, fmt.Errorf("without a kill: %w", err)
		}
		lengths[name] = whole{time.Since(from), s.trials}
	}
	for done < kills {
		over, err := s.kill(time.Duration(c.Float64() * float64(lengths[name].left(len(s.expected)))))
		if err != nil {
			return done, err
		}
		if over {
			break
		}
		done++
	}
	return done, s.finish()
}

// print prints a line for each kind and answers whether anything went wrong.
func (c *campaign) print(w io.Writer) (failed bool) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tKILLS\tIN EFFECT\tRESTORED\tDIFFERENCES\tLOST\tCHANGED\tREPEATED\tNOT ENDED")
	var sum tally
	row := func(name string, t *tally) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", name, t.kills, t.inEffect, t.restores, t.differences, t.lost, t.changed, t.repeated, t.ends)
	}
	for _, name := range c.kinds {
		t := c.tallies[name]
		failed = failed || t.failed()
		row(name, t)
		sum.add(t)
	}
	row("all", &sum)
	table.Flush()
	fmt.Fprintf(w, "seed %d\n", c.seed)
	return failed
}
