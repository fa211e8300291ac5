package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/history"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/webpage"
)

// perPage is how many runs a page lists.
const perPage = 50

// list is the content of the page with the runs.
type list struct {
	Rows     []row
	Total    int // that match
	All      int
	Page     int
	Pages    int
	Previous string // addresses
	Next     string
	JSON     string
	Studies  []string
	States   []string
	Verdicts []string
	Tags     []string
	Orders   []string
	Asked    asked
	Folders  []string
	Trends   bool
}

// asked are the filters, as they are in the address.
type asked struct{ Study, State, Verdict, Tag, Since, Text, Sort string }

// row is a run as it is listed.
type row struct {
	history.Run
	Badge   webpage.Badge
	When    string
	Length  string
	Going   bool
	Compare bool // whether it has values to compare
}

// runsView is the list for programs.
type runsView struct {
	Runs  []history.Run `json:"runs"`
	Total int           `json:"total"` // that match
	All   int           `json:"all"`
	Page  int           `json:"page"`
	Pages int           `json:"pages"`
}

func (s *Server) runs(r *http.Request) (answer, error) {
	all, err := s.list(r.Context())
	if err != nil {
		return answer{}, err
	}
	q := r.URL.Query()
	a := asked{q.Get("study"), q.Get("state"), q.Get("verdict"), q.Get("tag"), q.Get("since"), q.Get("q"), q.Get("sort")}
	selected, err := a.choose(all)
	if err != nil {
		return answer{}, &failure{http.StatusBadRequest, err}
	}
	l := list{Total: len(selected), All: len(all), Asked: a, Folders: s.options.Folders, Orders: history.Orders(), States: history.States(), Trends: s.options.Trend != nil}
	if l.Page, err = number(q.Get("page"), 1); err != nil {
		return answer{}, wrong("page: %w", err)
	}
	l.Pages = max(1, (len(selected)+perPage-1)/perPage)
	l.Page = min(l.Page, l.Pages)
	shown := selected[(l.Page-1)*perPage : min(l.Page*perPage, len(selected))]
	for i := range shown {
		l.Rows = append(l.Rows, rowOf(shown[i]))
	}
	if l.Page > 1 {
		l.Previous = address(q, "page", strconv.Itoa(l.Page-1))
	}
	if l.Page < l.Pages {
		l.Next = address(q, "page", strconv.Itoa(l.Page+1))
	}
	l.JSON = address(q, "format", "json")
	l.choices(all)
	return answer{
		title: "Runs", badge: report.Plural(l.Total, "run", "runs"), template: "runs", content: l, dated: true,
		json: runsView{append([]history.Run{}, shown...), l.Total, l.All, l.Page, l.Pages},
	}, nil
}

// choose selects and sorts runs. Those that go on stay first unless an order is asked for.
func (a *asked) choose(all []history.Run) ([]history.Run, error) {
	since, err := history.Since(a.Since, time.Now())
	if err != nil {
		return nil, err
	}
	f := history.Filter{Study: a.Study, State: history.State(a.State), Verdict: a.Verdict, Tag: a.Tag, Since: since, Text: a.Text}
	if err := f.Check(); err != nil {
		return nil, err
	}
	selected := f.Select(all)
	if a.Sort == "" {
		return selected, nil
	}
	return selected, history.Sort(selected, a.Sort)
}

// mostChoices bounds the entries of a list to choose from.
const mostChoices = 500

// choices are what filters may choose from.
func (l *list) choices(all []history.Run) {
	studies, verdicts, tags := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range all {
		studies[all[i].Study] = true
		verdicts[all[i].Verdict] = true
		for _, tag := range all[i].Tags {
			tags[tag] = true
		}
	}
	for names, into := range map[*map[string]bool]*[]string{&studies: &l.Studies, &verdicts: &l.Verdicts, &tags: &l.Tags} {
		sorted := slices.DeleteFunc(report.SortedKeys(*names), func(name string) bool { return name == "" })
		*into = sorted[:min(len(sorted), mostChoices)]
	}
}

// number reads a number from 1 on.
func number(text string, without int) (int, error) {
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%.40q is no number from 1 on", text)
	}
	return n, nil
}

// address is that of the list with another value of a parameter.
func address(q url.Values, name, value string) string {
	all := url.Values{}
	for key, values := range q {
		if key != "format" && key != name && values[0] != "" && (key != "page" || name == "format") {
			all.Set(key, values[0])
		}
	}
	all.Set(name, value)
	return "/?" + all.Encode()
}

func rowOf(r history.Run) row {
	v := row{Run: r, When: moment(r.Started), Length: length(r.Time()), Going: r.State == history.Running, Compare: r.State == history.Finished || r.State == history.Unjudged}
	look := chart.VerdictLook(r.Verdict)
	word := r.Verdict
	if r.State != history.Finished && r.State != history.Tuned {
		look, word = chart.VerdictLook(""), string(r.State)
	}
	if word != "" {
		word = strings.ToUpper(word[:1]) + word[1:]
	}
	v.Badge = webpage.Badge{Word: word, Class: look[0], Mark: look[1]}
	return v
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04") + " UTC"
}

// length is how long a run took, in two units.
func length(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}
