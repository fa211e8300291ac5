package otlp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	path        = "/v1/metrics"
	usualTime   = 10 * time.Second // of a request
	longestTime = 5 * time.Minute
)

// NewClient makes a client of the collector at an address, or of that in the environment if it is empty. The path /v1/metrics is appended to an
// address without it. Headers and the timeout come from the environment. Its errors are mistakes.
func NewClient(address string, getenv func(string) string) (*Client, error) {
	u, err := endpoint(address, getenv)
	if err != nil {
		return nil, err
	}
	header, err := headers(first(getenv, "HEADERS"))
	if err != nil {
		return nil, err
	}
	timeout := usualTime
	if name, text := first(getenv, "TIMEOUT"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms < 1 || ms > longestTime.Milliseconds() {
			return nil, fmt.Errorf("%s is %q, not a number of milliseconds up to %d", name, text, longestTime.Milliseconds())
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	return &Client{
		url: u, header: header, pause: wait,
		// A redirection would carry the headers, and so their secrets, elsewhere.
		http: &http.Client{Timeout: timeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// first is the environment variable of metrics, or that of all signals.
func first(getenv func(string) string, setting string) (name, text string) {
	for _, name = range []string{"OTEL_EXPORTER_OTLP_METRICS_" + setting, "OTEL_EXPORTER_OTLP_" + setting} {
		if text = strings.TrimSpace(getenv(name)); text != "" {
			return name, text
		}
	}
	return "", ""
}

// endpoint is the URL that metrics are sent to.
func endpoint(address string, getenv func(string) string) (*url.URL, error) {
	from := "the collector"
	if address == "" {
		if from, address = first(getenv, "ENDPOINT"); address == "" {
			return nil, errors.New("no collector is named: give its URL, such as http://localhost:4318, or set OTEL_EXPORTER_OTLP_ENDPOINT")
		}
		if name, protocol := first(getenv, "PROTOCOL"); protocol == "grpc" {
			return nil, fmt.Errorf("%s is grpc, and plimsoll sends by HTTP: give the collector's URL for HTTP, usually with port 4318", name)
		}
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is %q, not a URL such as http://localhost:4318", from, shown(address))
	}
	if whole := from == "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"; !whole && !strings.HasSuffix(u.Path, path) {
		u = u.JoinPath(path)
	}
	return u, nil
}

// shown is an address without what precedes the host, which may be a password.
func shown(address string) string {
	if i := strings.LastIndexByte(address, '@'); i >= 0 {
		return "…" + address[i:]
	}
	return address
}

// headers are names and values, separated by commas, as W3C Baggage has them: values are percent-encoded.
func headers(variable, text string) (http.Header, error) {
	all := http.Header{}
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, encoded, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if !found || err != nil || !token(name) || strings.ContainsFunc(value, control) { // the value may be a secret
			return nil, fmt.Errorf("%s: header %d is not NAME=VALUE, with a percent-encoded value", variable, i+1)
		}
		all.Add(name, value)
	}
	return all, nil
}

// token reports whether a text is a name of a header, by RFC 9110.
func token(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", c))
	})
}

func control(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
