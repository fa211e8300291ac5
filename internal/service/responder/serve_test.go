package responder

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
)

// serving starts a responder in this process, and returns its greeting.
func serving(t *testing.T, settings parameter.Settings) greeting {
	t.Helper()
	text := Kind().Defaults.(Settings)
	if err := parameter.Decode(&text, settings); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(order{Settings: text.texts(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, strings.NewReader(string(in)), to) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	var g greeting
	if err := json.NewDecoder(from).Decode(&g); err != nil {
		t.Fatal(err)
	}
	return g
}

func dial(t *testing.T, address string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// ping returns the response time of a ping, and the response.
func ping(conn net.Conn, from *bufio.Reader) (took time.Duration, line string, err error) {
	start := time.Now()
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return 0, "", err
	}
	line, err = from.ReadString('\n')
	return time.Since(start), line, err
}

func TestServiceTimesAreKept(t *testing.T) {
	g := serving(t, parameter.Settings{"law": "fixed", "service": "3ms"})
	conn, from := dial(t, g.Listening["redis"])
	var took []time.Duration
	for range 60 {
		d, line, err := ping(conn, from)
		if err != nil || line != "+PONG\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	if took[0] < 3*time.Millisecond || took[30] > 5*time.Millisecond {
		t.Errorf("a service of 3 ms takes between %s and, for half of them, %s", took[0], took[30])
	}
}

// Four requests at once on two servers: two are served immediately, two after them.
func TestServersAreAsManyAsWereAsked(t *testing.T) {
	g := serving(t, parameter.Settings{"law": "fixed", "service": "50ms", "servers": "2"})
	var mu sync.Mutex
	var all sync.WaitGroup
	var took []time.Duration
	for range 4 {
		conn, from := dial(t, g.Listening["redis"])
		all.Go(func() {
			d, _, err := ping(conn, from)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			took = append(took, d)
			mu.Unlock()
		})
	}
	all.Wait()
	slices.Sort(took)
	if took[1] > 90*time.Millisecond || took[2] < 90*time.Millisecond || took[0] < 50*time.Millisecond {
		t.Errorf("they took %v", took)
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	g := serving(t, parameter.Settings{"law": "exponential", "service": "2ms", "servers": "8"})
	conn, from := dial(t, g.Listening["redis"])
	var ask, want strings.Builder
	for i := range 50 {
		text := strings.Repeat("x", i)
		ask.WriteString("SET a" + text + " " + text + "y\r\nGET a" + text + "\r\n")
		want.WriteString("+OK\r\n" + string(append(head(nil, '$', i+1), text+"y\r\n"...)))
	}
	if _, err := io.WriteString(conn, ask.String()); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, want.Len())
	if _, err := io.ReadFull(from, got); err != nil || string(got) != want.String() {
		t.Errorf("%q, %v", got, err)
	}
}

// A client that reads nothing does not delay others, and gets all of its responses in the end.
func TestASlowClientHoldsUpNobody(t *testing.T) {
	g := serving(t, parameter.Settings{"law": "fixed", "service": "1us"})
	slow, from := dial(t, g.Listening["redis"])
	const size, n = 1 << 20, 30
	if _, err := io.WriteString(slow, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1048576\r\n"+strings.Repeat("v", size)+"\r\n"+strings.Repeat("GET a\r\n", n)); err != nil {
		t.Fatal(err)
	}
	other, fromOther := dial(t, g.Listening["redis"])
	if _, line, err := ping(other, fromOther); err != nil || line != "+PONG\r\n" {
		t.Errorf("%q, %v", line, err)
	}
	got, err := io.CopyN(io.Discard, from, int64(len("+OK\r\n")+n*(len("$1048576\r\n\r\n")+size)))
	if err != nil {
		t.Errorf("after %d bytes: %v", got, err)
	}
}

func TestStallsAreSeenByClients(t *testing.T) {
	periods := 3
	if !loadtest.Whole() {
		periods = 2
	}
	conn, from := dial(t, serving(t, parameter.Settings{"stall": "100ms", "period": "400ms"}).Listening["memcached"])
	loadtest.Calm(t, func() error {
		if w := waiting(t, conn, from, periods); w.slow < periods-1 || w.slow > periods+1 || w.longest > 150*time.Millisecond {
			return fmt.Errorf("in %d periods, %d stalls were seen, and %s was the longest", periods, w.slow, w.longest)
		}
		return nil
	})
}

// waits are the slow answers in some periods.
type waits struct {
	slow    int
	longest time.Duration
}

func waiting(t *testing.T, conn net.Conn, from *bufio.Reader, periods int) (w waits) {
	for start := time.Now(); time.Since(start) < time.Duration(periods)*400*time.Millisecond; {
		begin := time.Now()
		if _, err := io.WriteString(conn, "version\r\n"); err != nil {
			t.Error(err)
			return w
		}
		if _, err := from.ReadString('\n'); err != nil {
			t.Error(err)
			return w
		}
		took := time.Since(begin)
		if w.longest = max(w.longest, took); took > 60*time.Millisecond {
			w.slow++
		}
	}
	return w
}

// outcome is the client's view of one request on a new connection.
func outcome(t *testing.T, address, request string) string {
	t.Helper()
	conn, from := dial(t, address)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	line, err := from.ReadString('\n')
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, io.EOF) && line == "":
		// The connection is half closed if it still accepts writes.
		for range 2 {
			if _, err := io.WriteString(conn, request); err != nil {
				return "closed"
			}
		}
		return "half closed"
	case err != nil:
		t.Fatal(err)
	case strings.HasPrefix(line, garbage[:3]):
		return "garbage"
	case strings.Contains(line, "failed on purpose") || strings.Contains(line, "500"):
		return "failed"
	}
	return "served"
}

func TestFaultsComeByTheirShares(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]parameter.Settings{
		"at once": {}, "later": {"law": "fixed", "service": "10us", "servers": "10"}, "by net/http": {"http2": "true"},
	} {
		settings := parameter.Settings{"fail": "10%", "reset": "20%", "garbage": "15%", "half_close": "15%"}
		maps.Copy(settings, delay)
		t.Run(name, func(t *testing.T) { countFaults(t, serving(t, settings)) })
	}
}

// A request is counted before its client sees the outcome, whatever that is.
func TestCountedBeforeTheOutcome(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]parameter.Settings{
		"half closed": {"half_close": "100%"}, "reset": {"reset": "100%"}, "failed": {"fail": "100%"}, "served": {},
		"later": {"law": "fixed", "service": "1us"}, "half closed later": {"law": "fixed", "service": "1us", "half_close": "100%"},
	} {
		t.Run(name, func(t *testing.T) {
			g := serving(t, settings)
			control := controlClient{address: g.Listening["control"]}
			for n := 1.; n <= 20; n++ {
				conn, from := dial(t, g.Listening["redis"])
				if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
					t.Fatal(err)
				}
				_, _ = from.ReadString('\n')
				if counts, err := control.counters(t.Context()); err != nil || counts["responder.requests"] != n {
					t.Fatalf("%v, %v after %g requests", counts, err, n)
				}
				conn.Close()
			}
		})
	}
}

func countFaults(t *testing.T, g greeting) {
	n := 400.
	if !loadtest.Whole() {
		n = 150
	}
	for protocol, request := range map[string]string{"redis": "PING\r\n", "memcached": "version\r\n", "http": "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		seen := map[string]float64{}
		for range int(n) {
			seen[outcome(t, g.Listening[protocol], request)] += 1. / n
		}
		for what, share := range map[string]float64{"served": .4, "failed": .1, "reset": .2, "garbage": .15, "half closed": .15} {
			// Four standard errors.
			if math.Abs(seen[what]-share) > 4*math.Sqrt(share*(1-share)/n) {
				t.Errorf("%s: %s is %.3f of the outcomes, not %.2f", protocol, what, seen[what], share)
			}
		}
	}
	counts, err := controlClient{address: g.Listening["control"]}.counters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := counts["responder.requests"]; got < 3*n {
		t.Errorf("%g requests are counted", got)
	}
	if got := counts["responder.faults"] / counts["responder.requests"]; math.Abs(got-.6) > max(.06, 4*math.Sqrt(.6*.4/(3*n))) {
		t.Errorf("faults are %.3f of the requests", got)
	}
}

func TestFaultsOfHTTP2OverTLS(t *testing.T) {
	g := serving(t, parameter.Settings{"tls": "true", "http2": "true", "fail": "50%", "reset": "50%", "law": "fixed", "service": "1ms"})
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	failed, reset := 0, 0
	for range 40 {
		answer, err := client.Get("https://" + g.Listening["http"] + "/")
		if err != nil {
			reset++
			continue
		}
		answer.Body.Close()
		if answer.StatusCode == http.StatusInternalServerError && answer.ProtoMajor == 2 {
			failed++
		}
	}
	if failed+reset != 40 || failed < 8 || reset < 8 {
		t.Errorf("%d failed, %d were reset", failed, reset)
	}
}

func TestWhatCannotBeServed(t *testing.T) {
	for _, in := range []string{"", "{", `{"settings": {"law": "of the sea"}}`, `{"settings": {"no such": "1"}}`} {
		if err := Serve(t.Context(), strings.NewReader(in), io.Discard); err == nil {
			t.Errorf("%q is served", in)
		}
	}
}
