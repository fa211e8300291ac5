// Package picture draws a cluster and a plan as one self-contained HTML file: no network, no
// script, no fonts. Hosts are bars before and after the moves, moves are arrows between them,
// and every drawing has a table with the same content.
package picture

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/webpage"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// Input is the content of a picture.
type Input struct {
	Report *doctor.Report
	Title  string // the question; empty for the moves of a round
}

// Maximum rows of the lists on the page; the doctor's JSON is complete.
const (
	mostMoves    = 500
	mostHostRows = 1000
	mostPools    = 200
	mostLines    = 100
)

// HTML writes the page. Equal inputs give equal bytes.
func HTML(w io.Writer, in Input) error {
	t, err := webpage.Parse(pageText, nil)
	if err != nil {
		return fmt.Errorf("parse the template of the page: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, newPage(in)); err != nil {
		return fmt.Errorf("render the page: %w", err)
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// page is the data of the template.
type page struct {
	Look webpage.Look

	Name   string
	When   string
	Title  string
	Badge  webpage.Badge
	Hero   *hero
	Lead   string
	Quiet  string // a separate sentence if the lead does not contain it
	Scene  *scene
	Strips []strip
	Moves  cut[move]
	Hosts  cut[hostLine]
	Stuck  list // VMs that no host can run
	Lists  []list
	Pools  cut[poolLine]
	Refuse cut[doctor.Refused]
}

// cut is the beginning of a list.
type cut[T any] struct {
	Rows []T
	Rest string // number of further ones as text; empty if there are none
}

func cutAt[T any](all []T, most int, what string) cut[T] {
	if len(all) <= most {
		return cut[T]{Rows: all}
	}
	return cut[T]{all[:most], fmt.Sprintf("The first %s of %s %s. plimsoll cluster doctor --json has all of them.", count(most), count(len(all)), what)}
}

// list is a section of plain lines.
type list struct {
	ID, Title, Doc string
	Lines          cut[line]
}

// line is a text, with a name before it and what to do after it.
type line struct{ Name, Text, Do string }

func newPage(in Input) *page {
	r := in.Report
	s := newScene(r)
	p := &page{
		Look:   webpage.LookOf(pageStyle + s.style()),
		Name:   clean(r.Cluster),
		When:   when(r),
		Title:  clean(in.Title),
		Badge:  newBadge(r),
		Hero:   newHero(r),
		Lead:   lead(r),
		Quiet:  quiet(r),
		Scene:  s,
		Strips: strips(r),
		Moves:  cutAt(moves(r, s.drawn), mostMoves, "moves"),
		Hosts:  cutAt(hostLines(r), mostHostRows, "hosts"),
		Refuse: cutAt(refused(r), mostLines, "moves that are not made"),
		Stuck:  newList(list{ID: "stranded", Title: "Stranded", Doc: "VMs that must leave a host or restart, but that no host can run."}, plain(stranded(r))),
		Lists:  lists(r),
		Pools:  cutAt(poolLines(r.Pools), mostPools, "pools"),
	}
	if p.Title == "" {
		p.Title = "What would a round move in " + p.Name + ", and why?"
	}
	return p
}

// lists are the non-empty sections of plain lines.
func lists(r *doctor.Report) []list {
	var warnings []line
	for _, w := range r.Warnings {
		warnings = append(warnings, line{capital(clean(w.Kind)), sentence(w.Text, false), sentence(w.Do, true)})
	}
	return []list{
		newList(list{ID: "broken", Title: "Violated now", Doc: "Hard constraints that are violated before the moves."}, plain(r.Broken)),
		newList(list{ID: "remaining", Title: "Violated after the moves", Doc: "Hard constraints that the moves leave violated, and the obstacles to further moves."}, remaining(r)),
		newList(list{ID: "short", Title: "Entitled to less", Doc: "VMs whose shares, reservations and limits entitle them to less than their demand."}, shortfalls(r)),
		newList(list{ID: "last", Title: "The last round", Doc: "Outcome of the recommendations and predictions of the last round."}, outcome(r)),
		newList(list{ID: "warnings", Title: "Warnings", Doc: "Settings of the cluster with effects that operators may not expect."}, warnings),
	}
}

func newList(l list, lines []line) list {
	l.Lines = cutAt(lines, mostLines, "lines")
	return l
}

func stranded(r *doctor.Report) (texts []string) {
	for _, s := range r.Stranded {
		texts = append(texts, s.Text)
	}
	return texts
}

func remaining(r *doctor.Report) (out []line) {
	for _, v := range r.Remaining {
		out = append(out, line{Text: sentence(v.Text, true)})
		for _, vm := range v.VMs {
			out = append(out, line{Name: clean(vm.VM), Text: sentence(vm.Text, false)})
		}
	}
	return out
}

func plain(texts []string) []line {
	var out []line
	for _, t := range texts {
		out = append(out, line{Text: sentence(t, true)})
	}
	return out
}

// clean removes characters that a page cannot contain.
func clean(s string) string { return strings.ToValidUTF8(s, "�") }
