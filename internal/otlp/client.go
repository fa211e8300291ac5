package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client sends metrics to a collector.
type Client struct {
	url    *url.URL
	header http.Header
	http   *http.Client
	pause  func(context.Context, time.Duration) error
}

// Outcome is what a collector took.
type Outcome struct {
	Sent     int    // data points
	Rejected int64  // of them
	Message  string // of the collector, about those it rejected, or a warning
}

const (
	mostTries   = 5
	firstPause  = 500 * time.Millisecond // doubled with each try
	mostPause   = time.Minute            // a collector that asks for more is not waited for
	mostAnswer  = 1 << 20                // bytes that are read
	mostMessage = 300                    // runes that are shown
)

// Address is where metrics are sent, without a password.
func (c *Client) Address() string { return c.url.Redacted() }

// Send sends a batch. Requests that the collector cannot take now are repeated a few times; its error says why the metrics did not arrive.
// What was sent before the error arrived, and may be sent again.
func (c *Client) Send(ctx context.Context, b Batch) (o Outcome, err error) {
	for _, r := range b.requests() {
		body, err := json.Marshal(r)
		if err != nil {
			return o, fmt.Errorf("encode metrics: %w", err)
		}
		answer, err := c.postWithRetries(ctx, body)
		if err != nil {
			return o, fmt.Errorf("send metrics to %s: %w", c.Address(), err)
		}
		o.Sent += r.points()
		o.Rejected += int64(max(0, answer.Rejected))
		if answer.Message != "" {
			o.Message = clipped(answer.Message)
		}
	}
	return o, nil
}

// postWithRetries sends a request until it is taken, or refused for good.
func (c *Client) postWithRetries(ctx context.Context, body []byte) (partial, error) {
	next := firstPause
	for try := 1; ; try++ {
		p, err := c.post(ctx, body)
		var later *refusal
		if err == nil || ctx.Err() != nil || !errors.As(err, &later) || !later.retryable {
			return p, err
		}
		pause := next/2 + rand.N(next) // collectors recover better from clients that do not return together
		if later.after > 0 {
			pause = later.after
		}
		switch {
		case try == mostTries:
			return p, fmt.Errorf("%w (%d tries)", err, try)
		case pause > mostPause:
			return p, fmt.Errorf("%w; it asks to wait %s", err, pause)
		}
		if err := c.pause(ctx, pause); err != nil {
			return p, err
		}
		next *= 2
	}
}

// refusal is a request that was not taken.
type refusal struct {
	err       error
	retryable bool          // it may be repeated
	after     time.Duration // that the collector asks for; 0 for none
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// partial is the part of an answer that says what was not taken.
type partial struct {
	Rejected integer `json:"rejectedDataPoints"`
	Message  string  `json:"errorMessage"`
}

// integer is one of 64 bits, a string or a number in JSON.
type integer int64

// UnmarshalJSON reads both.
func (i *integer) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	*i = integer(n)
	return err
}

// post sends a request once.
func (c *Client) post(ctx context.Context, body []byte) (partial, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return partial{}, err
	}
	r.Header = c.header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "plimsoll")
	answer, err := c.http.Do(r)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) { // it has the address once more
			err = at.Err
		}
		return partial{}, &refusal{err: err, retryable: true}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return partial{}, &refusal{err: fmt.Errorf("read its answer: %w", err), retryable: true}
	}
	if answer.StatusCode/100 == 2 {
		return taken(text)
	}
	return partial{}, refused(answer, text, time.Now())
}

// taken reads the answer to a request that was taken. Some servers send none.
func taken(text []byte) (partial, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return partial{}, nil
	}
	var a struct {
		PartialSuccess partial `json:"partialSuccess"`
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return partial{}, errors.New("its answer is not that of OTLP: is it the address of a collector's OTLP/HTTP receiver?")
	}
	return a.PartialSuccess, nil
}

// refused makes an error of an answer, by the table "Retryable Response Codes".
func refused(answer *http.Response, text []byte, now time.Time) error {
	var a struct {
		Message string `json:"message"`
	}
	said := "status " + strconv.Itoa(answer.StatusCode)
	if name := http.StatusText(answer.StatusCode); name != "" {
		said += " (" + name + ")"
	}
	if json.Unmarshal(text, &a) == nil && a.Message != "" {
		said += ": " + clipped(a.Message)
	}
	r := &refusal{after: retryAfter(answer.Header.Get("Retry-After"), now)}
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		r.retryable = true
	case http.StatusUnauthorized, http.StatusForbidden:
		said += "; credentials are headers in OTEL_EXPORTER_OTLP_HEADERS"
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnsupportedMediaType:
		said += "; is it the address of a collector's OTLP/HTTP receiver?"
	}
	if to := answer.Header.Get("Location"); answer.StatusCode/100 == 3 && to != "" {
		said += fmt.Sprintf(", which leads to %.100q: give that address", to)
	}
	r.err = errors.New(said)
	return r
}

// retryAfter is the time to wait by the header of that name, in seconds or as a date; 0 for none.
func retryAfter(text string, now time.Time) time.Duration {
	if s, err := strconv.ParseInt(text, 10, 32); err == nil && s > 0 {
		return time.Duration(s) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// clipped is a message on one line, of bounded length.
func clipped(text string) string {
	runes := []rune(strings.Join(strings.Fields(valid(text)), " "))
	if len(runes) > mostMessage {
		runes = append(runes[:mostMessage-1], '…')
	}
	return string(runes)
}

// wait waits, unless the context ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
