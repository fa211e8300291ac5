// Package front is the HTTP side of the simulator. It gives calls the context of their
// connection, ends idle sessions, and injects faults into calls.
package front

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/sim/release"
)

// Idle is the idle timeout of a session in vCenter.
const Idle = 30 * time.Minute

// Disturber chooses faults of calls.
type Disturber interface {
	Disturbs() bool // any calls at all
	Call(method string) disturbance.Disturbance
}

// Gate admits calls: it returns the context of the call, and a function that ends it.
type Gate interface {
	Enter(context.Context) (context.Context, func())
}

// Front is between the clients and the simulator.
type Front struct {
	reg    *simulator.Registry
	base   *simulator.Context // of calls
	idle   time.Duration
	wrong  Disturber
	gate   Gate
	ctx    context.Context
	stop   context.CancelFunc
	sweeps sync.WaitGroup
	down   atomic.Bool
	calls  atomic.Uint64
	era    atomic.Uint64 // incremented when a session may have ended

	m        sync.Mutex
	open     map[string]context.Context // calls in progress, by the mark in their cookie
	sessions map[string]*activity       // by key
}

// activity is the state of a session.
type activity struct {
	objects *simulator.Registry // its collectors, filters and views; nil until its first call
	calls   int                 // in progress
	last    time.Time
	session *simulator.Session // nil until its first call in an era
	era     uint64
}

// New creates the front of a simulator. Its calls get copies of a context, and its sessions
// have an idle timeout.
func New(base *simulator.Context, idle time.Duration, wrong Disturber, gate Gate) *Front {
	reg := base.Map
	f := &Front{reg: reg, base: base, idle: idle, wrong: wrong, gate: gate, open: map[string]context.Context{}, sessions: map[string]*activity{}}
	f.ctx, f.stop = context.WithCancel(context.Background())
	reg.Cookie = f.cookie
	return f
}

// Close cancels all waiting calls.
func (f *Front) Close() {
	f.stop()
	f.sweeps.Wait()
}

// Down refuses all calls, or serves them again.
func (f *Front) Down(is bool) { f.down.Store(is) }

// mark separates the key of a session from the number of a call.
const mark = "~"

// Session serves calls by next with the context of their connection, without faults.
func (f *Front) Session(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer survive(w)
		ctx, leave := f.gate.Enter(r.Context())
		defer leave()
		f.serve(ctx, next, w, r)
	})
}

// Handler serves calls by next, and begins to end idle sessions.
func (f *Front) Handler(next http.Handler) http.Handler {
	f.sweeps.Go(f.sweep)
	inner := f.Session(next)
	disturbed := disturbance.Handler(inner, f.chosen, f.ctx.Done())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case f.down.Load():
			panic(http.ErrAbortHandler)
		case r.Method == http.MethodGet && r.URL.Path == "/sdk/vimServiceVersions.xml":
			w.Header().Set("Content-Type", "text/xml")
			_, _ = w.Write([]byte(release.Versions()))
		case strings.Contains(r.URL.Path, "/tagging/category"):
			category(r)
			inner.ServeHTTP(w, r)
		case f.wrong.Disturbs() && r.Method == http.MethodPost:
			disturbed.ServeHTTP(w, r)
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// survive replies with a fault after a panic of the simulator.
func survive(w http.ResponseWriter) {
	reason := recover()
	if reason == nil {
		return
	}
	if reason == http.ErrAbortHandler {
		panic(reason)
	}
	log.Printf("%v\n%s", reason, debug.Stack())
	reply(w, &failed{simulator.Fault(fmt.Sprintf("the simulator has a bug: %v", reason), &types.SystemError{})})
}

func (f *Front) chosen(method string) disturbance.Disturbance {
	if method == "" {
		return disturbance.Disturbance{}
	}
	return f.wrong.Call(method)
}

// serve answers a call in a context. It marks the cookie of a call of the simulator, which finds the context by it.
func (f *Front) serve(ctx context.Context, next http.Handler, w http.ResponseWriter, r *http.Request) {
	cookie, err := r.Cookie(soap.SessionCookieName)
	if err != nil || cookie.Value == "" || !strings.HasPrefix(r.URL.Path, "/sdk") {
		next.ServeHTTP(w, r.WithContext(ctx))
		return
	}
	key := strings.Trim(cookie.Value, `"`)
	if f.direct(ctx, w, r, key) {
		return
	}
	r, of := f.within(r.WithContext(ctx))
	name := strconv.FormatUint(f.calls.Add(1), 36)
	f.begin(key, name, r.Context())
	defer f.end(key, name)
	own := r.Clone(r.Context())
	own.Header.Del("Cookie")
	for _, c := range r.Cookies() {
		if c.Name == soap.SessionCookieName {
			c = &http.Cookie{Name: c.Name, Value: key + mark + name}
		}
		own.AddCookie(c)
	}
	next.ServeHTTP(w, own)
	if of.ends {
		f.era.Add(1)
	}
}

func (f *Front) begin(key, name string, of context.Context) {
	f.m.Lock()
	defer f.m.Unlock()
	f.open[name] = of
	if s := f.sessions[key]; s != nil {
		s.calls, s.last = s.calls+1, time.Now()
	}
}

func (f *Front) end(key, name string) {
	f.m.Lock()
	defer f.m.Unlock()
	delete(f.open, name)
	if s := f.sessions[key]; s != nil {
		s.calls, s.last = max(0, s.calls-1), time.Now()
	}
}

// cookie is the key of a call's session. It gives the call the context of its connection.
func (f *Front) cookie(c *simulator.Context) string {
	key, name, marked := strings.Cut(simulator.HTTPCookie(c), mark)
	if marked {
		f.m.Lock()
		if of := f.open[name]; of != nil {
			c.Context = of
		}
		f.m.Unlock()
	}
	return key
}

// Check records the session of a call.
func (f *Front) Check(ctx *simulator.Context, call *simulator.Method) types.BaseMethodFault {
	if ctx.Session == nil {
		return nil
	}
	f.m.Lock()
	defer f.m.Unlock()
	s := f.sessions[ctx.Session.Key]
	if s == nil {
		s = &activity{calls: 1, last: time.Now()} // this call
		f.sessions[ctx.Session.Key] = s
	}
	s.objects = ctx.Session.Registry
	f.learn(s, ctx, call)
	return nil
}

// category removes the prefix from the types of a tag category in a call, as vCenter does.
// Terraform sends the prefix, and expects types without it.
func category(r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the inner handler gets the error as well
	}
	text = bytes.ReplaceAll(text, []byte(`"urn:vim25:`), []byte(`"`))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
}
