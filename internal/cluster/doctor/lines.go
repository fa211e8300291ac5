package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"plimsoll/internal/cluster/doctor/warning"
)

// Lines writes the report as one JSON object per line for programs, with the content of the
// text. The kinds are cluster (one, the first), outcome and record (with a ledger), host,
// pool, short, broken, move, stranded, remaining, quiet, refused and warning, in the order of
// the text. The first line has the fields of the whole report; broken and quiet have a text,
// and the kind of a warning is in about.
func (r *Report) Lines(w io.Writer) error {
	p := &linePrinter{w: w}
	head := *r
	head.Hosts, head.Pools, head.Short, head.Broken, head.Moves, head.Stranded, head.Remaining, head.Refused, head.Warnings = nil, nil, nil, nil, nil, nil, nil, nil, nil
	head.Last, head.Record, head.Quiet = nil, nil, ""
	p.print("cluster", struct {
		Report
		Hosts omitted `json:"hosts,omitempty"`
	}{Report: head})
	if r.Last != nil {
		p.print("outcome", r.Last)
	}
	if r.Record != nil {
		p.print("record", r.Record)
	}
	each(p, "host", r.Hosts)
	each(p, "pool", r.Pools)
	each(p, "short", r.Short)
	p.texts("broken", r.Broken)
	each(p, "move", r.Moves)
	each(p, "stranded", r.Stranded)
	each(p, "remaining", r.Remaining)
	if r.Quiet != "" {
		p.texts("quiet", []string{r.Quiet})
	}
	each(p, "refused", r.Refused)
	for _, v := range r.Warnings {
		p.print("warning", struct {
			About string `json:"about"`
			warning.Warning
			Kind omitted `json:"kind,omitempty"`
		}{About: v.Kind, Warning: v})
	}
	return p.err
}

// omitted hides a field of an embedded struct.
type omitted *struct{}

// linePrinter writes objects, each with its kind, until the first error.
type linePrinter struct {
	w   io.Writer
	err error
}

func each[T any](p *linePrinter, kind string, list []T) {
	for i := range list {
		p.print(kind, list[i])
	}
}

func (p *linePrinter) texts(kind string, list []string) {
	for _, s := range list {
		p.print(kind, struct {
			Text string `json:"text"`
		}{s})
	}
}

// print writes an object with its kind as the first field.
func (p *linePrinter) print(kind string, v any) {
	if p.err != nil {
		return
	}
	body := &bytes.Buffer{}
	e := json.NewEncoder(body)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		p.err = fmt.Errorf("write a line of kind %s: %w", kind, err)
		return
	}
	_, p.err = fmt.Fprintf(p.w, "{\"kind\":%q,%s", kind, body.Bytes()[1:])
}
