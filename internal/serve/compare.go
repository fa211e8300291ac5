package serve

import (
	"cmp"
	"net/http"
	"slices"

	"plimsoll/internal/collect"
	"plimsoll/internal/finding"
	"plimsoll/internal/history"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
	"plimsoll/internal/sentence"
	"plimsoll/internal/webpage"
)

// comparePage is the content of the page with two runs.
type comparePage struct {
	A, B        row
	Comparisons []comparison
	Caveat      string
	Beds        []bedLine
	Differ      int
	NoBeds      string
	Swap, JSON  string // addresses
}

// comparison is that of an arm of both, or of an arm of each.
type comparison struct {
	Arm           string
	Before, After string
	Badge         webpage.Badge
	Lead          sentence.Sentence
	Caution       string
	Changes       []content.Change
	Colours       []string // of the verdicts
}

// bedLine is a fact of two testbeds; one that lacks it has an empty value.
type bedLine struct {
	Name    string `json:"name"`
	A       string `json:"a"`
	B       string `json:"b"`
	Differs bool   `json:"differs"`
}

// compareView is two runs for programs.
type compareView struct {
	A           history.Run      `json:"a"`
	B           history.Run      `json:"b"`
	Comparisons []comparisonView `json:"comparisons"`
	Testbed     []bedLine        `json:"testbed"`
}

type comparisonView struct {
	Arm      string            `json:"arm,omitempty"` // that both sides have
	Before   content.Side      `json:"before"`
	After    content.Side      `json:"after"`
	Changes  []content.Change  `json:"changes"`
	Findings *finding.Findings `json:"findings"`
}

func (s *Server) compare(r *http.Request) (answer, error) {
	q := r.URL.Query()
	if q.Get("a") == "" || q.Get("b") == "" {
		return answer{}, wrong("select two runs to compare: ?a=ID&b=ID")
	}
	arms := slices.DeleteFunc(slices.Clone(q["arm"]), func(arm string) bool { return arm == "" })
	if len(arms) > 2 {
		return answer{}, wrong("arm: at most one for each run")
	}
	a, err := s.find(r.Context(), q.Get("a"))
	if err != nil {
		return answer{}, err
	}
	b, err := s.find(r.Context(), q.Get("b"))
	if err != nil {
		return answer{}, err
	}
	done, err := s.working(r.Context())
	if err != nil {
		return answer{}, err
	}
	defer done()
	all, err := s.options.Lab.ComparePair(a.Folder, b.Folder, arms)
	if err != nil {
		return answer{}, err
	}
	p := comparePage{A: rowOf(a), B: rowOf(b), Caveat: content.NotRandomised, Swap: "/compare?a=" + b.ID + "&b=" + a.ID, JSON: "/compare?" + q.Encode() + "&format=json"}
	v := compareView{A: a, B: b}
	for i := range all {
		sources := report.New(all[i].Input)
		changes := content.Changes(sources)
		p.Comparisons = append(p.Comparisons, comparisonOf(&all[i], sources, changes))
		v.Comparisons = append(v.Comparisons, comparisonView{all[i].Arm, all[i].Sides[0], all[i].Sides[1], changes, all[i].Input.Findings})
	}
	p.Beds, p.NoBeds = bedsOf(a, b)
	v.Testbed = p.Beds
	for _, line := range p.Beds {
		if line.Differs {
			p.Differ++
		}
	}
	return answer{title: "Comparison", badge: a.Study + " and " + b.Study, template: "compare", content: p, json: v}, nil
}

func comparisonOf(c *content.Compared, s *report.Sources, changes []content.Change) comparison {
	look := chart.VerdictLook(string(content.VerdictOf(s)))
	out := comparison{
		Arm: c.Arm, Before: c.Sides[0].Text(), After: c.Sides[1].Text(), Lead: content.LeadSentence(s), Caution: content.Caution(s), Changes: changes,
		Badge: webpage.Badge{Word: string(content.VerdictOf(s)), Class: look[0], Mark: look[1]},
	}
	for i := range changes {
		colour := ""
		if !changes[i].Exploratory {
			colour = chart.VerdictLook(string(changes[i].Verdict))[0]
		}
		out.Colours = append(out.Colours, colour)
	}
	return out
}

// bedsOf are the facts of both testbeds, in the order of the first.
func bedsOf(a, b history.Run) (lines []bedLine, none string) {
	first, errA := history.Testbed(a.Folder)
	second, errB := history.Testbed(b.Folder)
	if err := cmp.Or(errA, errB); err != nil {
		none = "Not all of both testbeds can be read: " + err.Error()
	}
	names := []string{}
	for _, bed := range []collect.TestbedRecord{first, second} {
		for _, f := range bed {
			if !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	for _, name := range names {
		x, inA := first.Get(name)
		y, inB := second.Get(name)
		lines = append(lines, bedLine{name, x, y, x != y || inA != inB})
	}
	return lines, none
}
