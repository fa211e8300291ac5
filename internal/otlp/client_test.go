package otlp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// collector answers one request after another as it is told; the last answer repeats.
type collector struct {
	*httptest.Server
	got    []*http.Request
	bodies []string
	paused []time.Duration
	client *Client
}

type said struct {
	status int
	body   string
	header map[string]string
}

func serve(t *testing.T, environment map[string]string, answers ...said) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a := answers[min(len(c.got), len(answers)-1)]
		c.got, c.bodies = append(c.got, r), append(c.bodies, string(body))
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(c.Close)
	var err error
	if c.client, err = NewClient(c.URL, func(name string) string { return environment[name] }); err != nil {
		t.Fatal(err)
	}
	c.client.pause = func(ctx context.Context, d time.Duration) error {
		c.paused = append(c.paused, d)
		return ctx.Err()
	}
	return c
}

func TestSending(t *testing.T) {
	c := serve(t, map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20secret, x-two=2"}, said{status: 200, body: `{"partialSuccess":{}}`})
	o, err := c.client.Send(t.Context(), example())
	if err != nil || o != (Outcome{Sent: 4}) {
		t.Fatalf("%+v, %v", o, err)
	}
	r := c.got[0]
	if r.Method != http.MethodPost || r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("Api-Key") != "a secret" || r.Header.Get("X-Two") != "2" {
		t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	if !json.Valid([]byte(c.bodies[0])) || len(c.got) != 1 {
		t.Errorf("%d requests, %s", len(c.got), c.bodies[0])
	}
}

func TestAnswers(t *testing.T) {
	const busy, fine = 503, 200
	again := func(n int, status int) (all []said) {
		for range n {
			all = append(all, said{status: status})
		}
		return all
	}
	for name, c := range map[string]struct {
		answers  []said
		requests int
		want     Outcome
		err      string // empty for none
	}{
		"nothing in it":      {[]said{{status: 200}}, 1, Outcome{Sent: 4}, ""},
		"rejected":           {[]said{{status: 200, body: `{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too\nold"}}`}}, 1, Outcome{4, 3, "too old"}, ""},
		"rejected, a number": {[]said{{status: 200, body: `{"partialSuccess":{"rejectedDataPoints":3}}`}}, 1, Outcome{Sent: 4, Rejected: 3}, ""},
		"a warning":          {[]said{{status: 200, body: `{"partialSuccess":{"errorMessage":"deprecated"}}`}}, 1, Outcome{Sent: 4, Message: "deprecated"}, ""},
		"another server":     {[]said{{status: 200, body: `<html>`}}, 1, Outcome{}, "is it the address of a collector"},
		"busy twice":         {append(again(2, busy), said{status: fine}), 3, Outcome{Sent: 4}, ""},
		"too many":           {append(again(1, 429), said{status: fine}), 2, Outcome{Sent: 4}, ""},
		"gateways":           {append(append(again(1, 502), again(1, 504)...), said{status: fine}), 3, Outcome{Sent: 4}, ""},
		"always busy":        {again(1, busy), mostTries, Outcome{}, "status 503 (Service Unavailable) (5 tries)"},
		"waits too long":     {[]said{{status: busy, header: map[string]string{"Retry-After": "300"}}}, 1, Outcome{}, "it asks to wait 5m0s"},
		"bad":                {[]said{{status: 400, body: `{"message":"no ` + strings.Repeat("x", 1000) + `"}`}}, 1, Outcome{}, "status 400 (Bad Request): no xxx"},
		"too large":          {again(1, 413), 1, Outcome{}, "status 413"},
		"broken":             {again(1, 500), 1, Outcome{}, "status 500"},
		"who":                {again(1, 401), 1, Outcome{}, "OTEL_EXPORTER_OTLP_HEADERS"},
		"nowhere":            {again(1, 404), 1, Outcome{}, "is it the address"},
		"elsewhere":          {[]said{{status: 308, header: map[string]string{"Location": "http://192.0.2.1/x"}}}, 1, Outcome{}, `leads to "http://192.0.2.1/x"`},
	} {
		s := serve(t, nil, c.answers...)
		o, err := s.client.Send(t.Context(), example())
		if len(s.got) != c.requests || o != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d requests, %+v, %v", name, len(s.got), o, err)
		}
		if err != nil && (len(err.Error()) > 700 || !strings.HasPrefix(err.Error(), "send metrics to http://127.0.0.1:")) {
			t.Errorf("%s: %v", name, err)
		}
		for i, d := range s.paused {
			if least := firstPause << i / 2; d < least || d > 3*least {
				t.Errorf("%s: pause %d is %s", name, i, d)
			}
		}
	}
}

func TestPausesAsAsked(t *testing.T) {
	s := serve(t, nil, said{status: 429, header: map[string]string{"Retry-After": "7"}}, said{status: 200})
	if _, err := s.client.Send(t.Context(), example()); err != nil || len(s.paused) != 1 || s.paused[0] != 7*time.Second {
		t.Errorf("pauses %v, %v", s.paused, err)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{"": 0, "x": 0, "-5": 0, "0": 0, "9": 9 * time.Second, "99999999999999": 0, "Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A collector that is not there is asked again, and no longer than the context goes.
func TestNoCollector(t *testing.T) {
	s := serve(t, nil, said{status: 200})
	s.Close()
	if _, err := s.client.Send(t.Context(), example()); err == nil || len(s.paused) != mostTries-1 || strings.Count(err.Error(), s.URL) != 1 || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%d pauses, %v", len(s.paused), err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s.paused, s.client.pause = nil, func(ctx context.Context, d time.Duration) error {
		stop()
		return wait(ctx, d)
	}
	if _, err := s.client.Send(ctx, example()); !errors.Is(err, context.Canceled) {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

// The words of a server are one line, and no more than that.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"a\nb\u001b[31m"}}`))
	f.Add([]byte(`{"partialSuccess":null}`))
	f.Add([]byte(`{"partialSuccess":{"rejectedDataPoints":"-9223372036854775808"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := taken(text)
		if err != nil && p != (partial{}) {
			t.Errorf("%+v beside %v", p, err)
		}
		if m := clipped(p.Message); strings.ContainsAny(m, "\n\r") || len([]rune(m)) > mostMessage {
			t.Errorf("%q", m)
		}
		_ = refused(&http.Response{StatusCode: 400, Header: http.Header{"Location": {string(text)}}}, text, time.Now()).Error()
	})
}
