// Package serve shows results folders as web pages, and as JSON. It reads the folders that it was given, by the IDs of the runs in them
// and never by a path, and changes nothing.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"plimsoll/internal/history"
	"plimsoll/internal/lab"
)

// Options say what is served, and to whom.
type Options struct {
	Lab     *lab.Lab
	Index   *history.Index
	Folders []string // that hold results folders
	// Token is what each request has to carry; empty for none. Certificate serves TLS; nil serves plain HTTP. Beyond loopback both are required.
	Token       string
	Certificate *tls.Certificate
	// Live makes the page of a run that goes on, below a path with a slash at its end; it leads to the report when the run has ended. Nil shows the run's
	// row alone.
	Live func(dir, prefix, report string) Live
	// Trend reads the trend of a study. Nil has no such pages.
	Trend func(ctx context.Context, study, metric string) (Trend, error)
}

// Live is the page of a run that goes on.
type Live interface {
	http.Handler
	Close()
}

// Trend is a study over time.
type Trend interface {
	Page() ([]byte, error) // HTML, which loads nothing and runs no script
	JSON() any
}

// Server answers requests.
type Server struct {
	options Options
	pages   *pages
	handler http.Handler
	work    chan struct{} // what is computed at the same time

	meters meters

	mu      sync.Mutex
	reports []reported // the latest last
	live    map[string]Live
}

// mostWork is how many pages are computed at the same time: the machine has something else to do.
const mostWork = 2

// New makes a server. Its error is one of the program.
func New(o Options) (*Server, error) {
	p, err := newPages()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o, pages: p, work: make(chan struct{}, mostWork), live: map[string]Live{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.page(s.runs))
	mux.HandleFunc("/run/{id}", s.page(s.run))
	mux.HandleFunc("/run/{id}/live/", s.liveRun)
	mux.HandleFunc("/run/{id}/trial/{trial}", s.page(s.trial))
	mux.HandleFunc("/run/{id}/trial/{trial}/{file}", s.page(s.trialFile))
	mux.HandleFunc("/compare", s.page(s.compare))
	mux.HandleFunc("/testbeds", s.page(s.testbeds))
	mux.HandleFunc("/trend/{study}", s.page(s.trend))
	mux.HandleFunc("/metrics", s.page(s.metrics))
	mux.HandleFunc("/", s.page(func(*http.Request) (answer, error) { return answer{}, missing("no such page") }))
	s.handler = s.guarded(mux)
	return s, nil
}

// Handler answers requests, each of which it checks first.
func (s *Server) Handler() http.Handler { return s.handler }

// Close closes the files of runs that go on.
func (s *Server) Close() {
	s.meters.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.live {
		l.Close()
		delete(s.live, id)
	}
}

// failure is an error with a status of HTTP.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string { return f.err.Error() }

func missing(format string, args ...any) error {
	return &failure{http.StatusNotFound, fmt.Errorf(format, args...)}
}

func wrong(format string, args ...any) error {
	return &failure{http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// list lists the runs, those that go on first, then the latest.
func (s *Server) list(ctx context.Context) ([]history.Run, error) {
	runs, err := s.options.Index.Runs(ctx, s.options.Folders...)
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	slices.SortStableFunc(runs, runningFirst)
	return runs, nil
}

func runningFirst(a, b history.Run) int {
	rank := func(r history.Run) int {
		if r.State == history.Running {
			return 0
		}
		return 1
	}
	return cmp.Compare(rank(a), rank(b))
}

// find finds a run by its ID, and makes sure that its folder is confined.
func (s *Server) find(ctx context.Context, id string) (history.Run, error) {
	runs, err := s.list(ctx)
	if err != nil {
		return history.Run{}, err
	}
	i := slices.IndexFunc(runs, func(r history.Run) bool { return r.ID == id })
	if i < 0 {
		return history.Run{}, missing("no run with the ID %.40q", id)
	}
	above, name := filepath.Split(runs[i].Folder)
	root, err := os.OpenRoot(filepath.Join(above, "."))
	if err != nil {
		return history.Run{}, err
	}
	defer root.Close()
	if err := confined(root, name, 0); err != nil {
		return history.Run{}, &failure{http.StatusForbidden, err}
	}
	return runs[i], nil
}

const (
	deepest     = 3      // folders of runs in a tuning, and of their interventions
	mostEntries = 20_000 // of a folder
)

// confined refuses a results folder with a symbolic link among its folders. Files are opened within their folder, which refuses links out of it.
func confined(root *os.Root, name string, depth int) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := f.ReadDir(mostEntries)
	if len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(name, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			return fmt.Errorf("%s is a symbolic link, which is not followed", path)
		case e.IsDir() && depth < deepest && e.Name() != "trials" && e.Name() != "stopped":
			if err := confined(root, path, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// working waits until something may be computed, and returns what ends it.
func (s *Server) working(ctx context.Context) (done func(), err error) {
	select {
	case s.work <- struct{}{}:
		return func() { <-s.work }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
