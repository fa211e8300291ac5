package keyvalue

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/workload"
)

// TestMain is also the responder, which is a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == responder.Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := responder.Serve(ctx, os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// store is one that runs for a test.
type store struct {
	at   map[string]string // addresses, by protocol
	kill func()
}

// responding starts a responder.
func responding(t *testing.T, s parameter.Settings) store {
	t.Helper()
	all := parameter.Settings{}
	for _, f := range parameter.Fields(responder.Kind().Defaults) {
		if all[f.Name] = f.Default; f.Default == "" && f.Kind == parameter.KindDuration {
			all[f.Name] = "0s"
		}
	}
	maps.Copy(all, s)
	order, err := json.Marshal(map[string]any{"settings": all, "seed": 1})
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], responder.Command)
	c.Stdin = strings.NewReader(string(order))
	c.Stderr = os.Stderr
	said, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill := sync.OnceFunc(func() {
		c.Process.Kill()
		c.Wait()
	})
	t.Cleanup(kill)
	line, err := bufio.NewReader(said).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var greeting struct {
		Listening map[string]string `json:"listening"`
	}
	if err := json.Unmarshal(line, &greeting); err != nil {
		t.Fatal(err)
	}
	return store{greeting.Listening, kill}
}

// env is an environment whose service is the store.
func (s store) env() workload.Env {
	return workload.Env{Seed: 5, Target: func(protocol string) (load.Endpoint, error) {
		if s.at[protocol] == "" {
			return load.Endpoint{}, fmt.Errorf("the service does not speak %s", protocol)
		}
		return load.Endpoint{Network: "tcp", Address: s.at[protocol]}, nil
	}}
}

// says sends a line and returns what comes back up to the end.
func (s store) says(t *testing.T, protocol, line, end string) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.at[protocol])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(conn, "%s\r\n", line); err != nil {
		t.Fatal(err)
	}
	text, in := "", bufio.NewReader(conn)
	for !strings.HasSuffix(text, end) {
		c, err := in.ReadByte()
		if err != nil {
			t.Fatalf("%q, then %v", text, err)
		}
		text += string(c)
	}
	return text
}

// keys is how many keys the store holds.
func (s store) keys(t *testing.T, protocol string) string {
	t.Helper()
	if protocol == "redis" {
		return strings.Trim(s.says(t, protocol, "DBSIZE", "\r\n"), ":\r\n")
	}
	_, rest, _ := strings.Cut(s.says(t, protocol, "stats", "END\r\n"), "STAT curr_items ")
	n, _, _ := strings.Cut(rest, "\r\n")
	return n
}

// answering is a store that answers each line with the same, however many there are.
func answering(t *testing.T, answer func(line string) string) store {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					if _, err := conn.Write([]byte(answer(lines.Text()))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return store{at: map[string]string{"redis": l.Addr().String(), "memcached": l.Addr().String()}}
}

func made(t testing.TB, s parameter.Settings) workload.Load {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// ran is what a load came to.
type ran struct {
	*measure.Recorder
	checks map[string]measure.Check
	sums   map[string]measure.Sample // by class
	all    measure.Sample
}

func run(t *testing.T, s store, settings parameter.Settings, length time.Duration) ran {
	t.Helper()
	return runStage(t, s, settings, load.Stage{Length: length, Interval: length / 4, Seed: 1}, measure.NewRecorder(nil))
}

// runFor ends a load after so many operations, however long a busy machine takes for them.
func runFor(t *testing.T, s store, settings parameter.Settings, operations int64) ran {
	t.Helper()
	enough := measure.NewRecorder(func(r *measure.Recorder) bool {
		done := int64(0)
		for _, in := range r.Intervals() {
			for _, s := range in.Samples {
				done += s.Operations
			}
		}
		return done >= operations
	})
	return runStage(t, s, settings, load.Stage{Length: time.Minute, Interval: 20 * time.Millisecond, Seed: 1}, enough)
}

func runStage(t *testing.T, s store, settings parameter.Settings, stage load.Stage, out *measure.Recorder) ran {
	t.Helper()
	r := ran{out, map[string]measure.Check{}, map[string]measure.Sample{}, measure.Sample{}}
	if err := made(t, settings).Run(t.Context(), s.env(), stage, r.Recorder); err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks() {
		r.checks[c.Name] = c
	}
	for _, in := range r.Intervals() {
		for _, s := range in.Samples {
			sum := r.sums[s.Class]
			for _, to := range []*measure.Sample{&sum, &r.all} {
				to.Operations += s.Operations
				to.Errors += s.Errors
				to.TimedOut += s.TimedOut
				to.Bytes += s.Bytes
			}
			r.sums[s.Class] = sum
		}
	}
	return r
}

func prepare(t *testing.T, s store, settings parameter.Settings) {
	t.Helper()
	if err := made(t, settings).Prepare(t.Context(), s.env()); err != nil {
		t.Fatal(err)
	}
}

// requests is how many the responder has read.
func (s store) requests(t *testing.T) int {
	t.Helper()
	r, err := http.Get("http://" + s.at["control"] + "/counters")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var counters map[string]float64
	if err := json.NewDecoder(r.Body).Decode(&counters); err != nil {
		t.Fatal(err)
	}
	return int(counters["responder.requests"])
}
