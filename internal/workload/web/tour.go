package web

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// tour is what a load asks for, on all of its connections. It is not changed once
// it is made.
type tour struct {
	visits   []visit
	longest  int // most answers of a visit
	expected *statuses
	bodiless bool // it asks for heads alone
	// reuse is how many requests a connection gets at most; it ends with a whole
	// visit. With 0 the server says when.
	reuse int
}

// visit is what one operation asks for.
type visit struct {
	requests []byte // of HTTP/1.1, to be written one after the other
	answers  int    // how many end it
	paths    []string
}

// choose draws the number of a visit.
func (t *tour) choose(source *rand.PCG) int {
	if len(t.visits) == 1 {
		return 0
	}
	return int(source.Uint64() % uint64(len(t.visits)))
}

// newTour visits whole pages, or each of their objects.
func (w *web) newTour(pages []page, host string) *tour {
	t := &tour{expected: &w.expected, bodiless: w.Method == "HEAD"}
	switch {
	case !w.KeepAlive:
		t.reuse = 1
	case w.Pipeline == 1 || w.Version == "2": // else there would be others behind the last request
		t.reuse = w.Reuse
	}
	fields := w.fields(host)
	for _, p := range pages {
		parts := [][]string{p}
		if w.Unit == "object" {
			parts = nil
			for i := range p {
				parts = append(parts, p[i:i+1])
			}
		}
		for _, part := range parts {
			v := visit{answers: len(part), paths: part}
			for _, path := range part {
				v.requests = append(v.requests, w.Method+" "+path+" HTTP/1.1\r\n"+fields+"\r\n"...)
			}
			t.visits = append(t.visits, v)
			t.longest = max(t.longest, v.answers)
		}
	}
	return t
}

// fields are the header fields of each request.
func (w *web) fields(host string) string {
	var b strings.Builder
	for _, f := range w.header(host) {
		b.WriteString(f.name + ": " + f.value + "\r\n")
	}
	return b.String()
}

type headerField struct{ name, value string }

// header is the header of each request: our own fields, unless the study gives
// them, and those of the study.
func (w *web) header(host string) []headerField {
	given := func(name string) bool {
		for _, f := range w.extra {
			if strings.EqualFold(f.name, name) {
				return true
			}
		}
		return false
	}
	var all []headerField
	for _, f := range []headerField{{"Host", host}, {"User-Agent", "plimsoll"}} {
		if !given(f.name) {
			all = append(all, f)
		}
	}
	return append(all, w.extra...)
}

// parseHeader reads the header fields that a study gives.
func parseHeader(texts []string) ([]headerField, error) {
	var fields []headerField
	for _, text := range texts {
		line, err := printable([]byte(text + "\r\n"))
		if err != nil {
			return nil, fmt.Errorf("%.60q is not NAME: VALUE", text)
		}
		name, value, err := field(line)
		if err != nil {
			return nil, fmt.Errorf("%.60q is not NAME: VALUE", text)
		}
		for _, ours := range []string{"connection", "content-length", "transfer-encoding", "expect", "upgrade", "te", "trailer", "keep-alive", "proxy-connection"} {
			if is(name, ours) {
				return nil, fmt.Errorf("%s cannot be set by a study: it changes the framing of requests and responses", name)
			}
		}
		fields = append(fields, headerField{string(name), string(trim(value))})
	}
	return fields, nil
}

// statuses are those that are expected, by their numbers.
type statuses [1000]bool

// parseStatuses reads statuses, such as 404, and their classes, such as 2xx.
func parseStatuses(texts []string) (s statuses, err error) {
	for _, text := range texts {
		lowest, span := text, 1
		if class, found := strings.CutSuffix(text, "xx"); found && len(class) == 1 {
			lowest, span = class+"00", 100
		}
		from, err := strconv.Atoi(lowest)
		if err != nil || from < 200 || from > 599 {
			return s, fmt.Errorf("%.20q is not a status, such as 404 or 2xx", text)
		}
		for i := range span {
			s[from+i] = true
		}
	}
	if len(texts) == 0 {
		return s, fmt.Errorf("at least one status must be expected, such as 2xx")
	}
	return s, nil
}
