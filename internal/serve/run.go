package serve

import (
	"bytes"
	"net/http"
	"reflect"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/history"
	"plimsoll/internal/lab"
	"plimsoll/internal/report/page"
)

// mostReports is how many reports are kept, of a few hundred KiB each.
const mostReports = 16

// reported is the report of a run.
type reported struct {
	run      history.Run // as it was then
	page     []byte
	findings *finding.Findings
}

// runView is a run for programs.
type runView struct {
	Run      history.Run       `json:"run"`
	Findings *finding.Findings `json:"findings,omitempty"`
}

// run is the report of a run, or its live page.
func (s *Server) run(r *http.Request) (answer, error) {
	run, err := s.find(r.Context(), r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	if run.State == history.Running {
		a := answer{title: run.Study, badge: string(run.State), template: "running", content: rowOf(run), dated: true, json: runView{Run: run}}
		if s.options.Live != nil {
			a.to = "/run/" + run.ID + "/live/"
		}
		return a, nil
	}
	of, err := s.report(r, run)
	if err != nil {
		return answer{}, err
	}
	return answer{body: of.page, kind: "text/html; charset=utf-8", policy: reportPolicy, json: runView{run, of.findings}}, nil
}

// report computes the report of a run by the rules of this version, unless it has that of the run as it is.
func (s *Server) report(r *http.Request, run history.Run) (reported, error) {
	if of, known := s.kept(run); known {
		return of, nil
	}
	done, err := s.working(r.Context())
	if err != nil {
		return reported{}, err
	}
	defer done()
	if of, known := s.kept(run); known { // another request computed it
		return of, nil
	}
	outcome, err := s.options.Lab.Judge(run.Folder)
	if err != nil {
		return reported{}, err
	}
	var text bytes.Buffer
	if err := page.Write(&text, outcome.Input); err != nil {
		return reported{}, err
	}
	of := reported{run, text.Bytes(), outcome.Findings}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = slices.DeleteFunc(s.reports, func(o reported) bool { return o.run.ID == run.ID })
	s.reports = append(s.reports, of)
	s.reports = s.reports[max(0, len(s.reports)-mostReports):]
	return of, nil
}

func (s *Server) kept(run history.Run) (reported, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.reports, func(o reported) bool { return reflect.DeepEqual(o.run, run) })
	if i < 0 {
		return reported{}, false
	}
	return s.reports[i], true
}

// liveRun is the page of a run that goes on, or the way to its report.
func (s *Server) liveRun(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	run, err := s.find(r.Context(), id)
	if err != nil || s.options.Live == nil {
		s.page(func(*http.Request) (answer, error) {
			if err == nil {
				err = missing("no live pages")
			}
			return answer{}, err
		})(w, r)
		return
	}
	if page := "/run/" + run.ID; run.State != history.Running && r.URL.Path == page+"/live/" && r.URL.Query().Get("format") == "" {
		s.page(func(*http.Request) (answer, error) { return answer{to: page}, nil })(w, r)
		return
	}
	s.liveOf(run).ServeHTTP(w, r)
}

// mostLive is how many live pages are kept: each reads a file of events.
const mostLive = 64

// liveOf is the live page of a run, made once.
func (s *Server) liveOf(run history.Run) Live {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, known := s.live[run.ID]; known {
		return l
	}
	for id, l := range s.live {
		if len(s.live) < mostLive {
			break
		}
		l.Close() // it opens its file again when it is looked at
		delete(s.live, id)
	}
	l := s.options.Live(run.Folder, "/run/"+run.ID+"/live/", "/run/"+run.ID)
	s.live[run.ID] = l
	return l
}

// trend is a study over time.
func (s *Server) trend(r *http.Request) (answer, error) {
	if s.options.Trend == nil {
		return answer{}, missing("no pages of trends")
	}
	done, err := s.working(r.Context())
	if err != nil {
		return answer{}, err
	}
	defer done()
	t, err := s.options.Trend(r.Context(), r.PathValue("study"), r.URL.Query().Get("metric"))
	if lab.IsMistake(err) {
		return answer{}, missing("%v", err)
	}
	if err != nil {
		return answer{}, err
	}
	body, err := t.Page()
	return answer{body: body, kind: "text/html; charset=utf-8", policy: reportPolicy, json: t.JSON()}, err
}
