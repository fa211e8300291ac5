package serve

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"plimsoll/internal/lab"
	"plimsoll/internal/report/page"
	"plimsoll/internal/webpage"
)

//go:embed pages.html
var pagesText string

//go:embed pages.css
var pagesStyle string

// pages are the templates of the pages.
type pages struct {
	template *template.Template
	look     webpage.Look
}

func newPages() (*pages, error) {
	t, err := webpage.Parse(pagesText, template.FuncMap{"said": page.AsHTML})
	if err != nil {
		return nil, fmt.Errorf("parse the templates of pages: %w", err)
	}
	look := webpage.LookOf(pagesStyle)
	look.Policy = strings.Replace(look.Policy, "form-action 'none'", "form-action 'self'", 1) // filters are forms
	return &pages{t, look}, nil
}

// answer is the answer to a request: a page, or something else that is whole.
type answer struct {
	title, badge string
	template     string // of the page's content
	dated        bool   // the page shows the time of its state
	content      any
	json         any    // the same for programs
	to           string // path to which the request is redirected
	body         []byte // in place of all that
	kind, policy string // of body
	attachment   string // name of a file to save
}

// reportPolicy is the policy of a report beside its own, which admits one style sheet only.
const reportPolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// document is the data of a page.
type document struct {
	Look    webpage.Look
	Name    string
	Badge   webpage.Badge
	Title   string
	At      string // of the state that is shown; empty where it does not matter
	Body    template.HTML
	Content any
}

// page makes a handler of a function that answers.
func (s *Server) page(of func(*http.Request) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asJSON := r.URL.Query().Get("format") == "json"
		a, err := of(r)
		status := http.StatusOK
		if err != nil {
			status = statusOf(err)
			a = answer{title: http.StatusText(status), badge: fmt.Sprint(status), template: "error", content: err.Error(), json: map[string]string{"error": err.Error()}}
		}
		switch {
		case a.to != "" && !asJSON:
			http.Redirect(w, r, a.to, http.StatusSeeOther)
			return
		case a.body != nil && (!asJSON || a.json == nil):
		case asJSON && a.json != nil:
			a.kind, a.policy = "application/json", closed
			a.body, err = json.MarshalIndent(a.json, "", "  ")
		default:
			a.kind, a.policy = "text/html; charset=utf-8", s.pages.look.Policy+"; frame-ancestors 'none'"
			a.body, err = s.pages.write(a)
		}
		if err != nil {
			http.Error(w, "this page cannot be shown: "+err.Error(), http.StatusInternalServerError)
			return
		}
		h := w.Header()
		h.Set("Content-Type", a.kind)
		h.Set("Content-Security-Policy", a.policy)
		h.Set("Content-Length", fmt.Sprint(len(a.body)))
		if a.attachment != "" {
			h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", a.attachment))
		}
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			_, _ = w.Write(a.body) // a reader that is gone
		}
	}
}

func (p *pages) write(a answer) ([]byte, error) {
	d := document{Look: p.look, Name: a.title, Badge: webpage.Badge{Word: a.badge}, Title: a.title, Content: a.content}
	if a.dated {
		d.At = time.Now().UTC().Format("2006-01-02 15:04:05 UTC")
	}
	var content, whole bytes.Buffer
	if err := p.template.ExecuteTemplate(&content, a.template, a.content); err != nil {
		return nil, err
	}
	d.Body = template.HTML(content.String()) // of a template, which escaped it
	if err := p.template.Execute(&whole, d); err != nil {
		return nil, err
	}
	return whole.Bytes(), nil
}

// statusOf is the status of an error.
func statusOf(err error) int {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f.status
	case errors.Is(err, fs.ErrNotExist):
		return http.StatusNotFound
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return http.StatusServiceUnavailable
	case lab.IsMistake(err):
		return http.StatusUnprocessableEntity
	}
	return http.StatusInternalServerError
}
