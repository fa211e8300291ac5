// Package page writes a report as one self-contained HTML page: its content security policy
// forbids scripts and any address, its figures are SVG, and its data is embedded.
package page

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/plan"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/report/content"
	"plimsoll/internal/report/figure"
	"plimsoll/internal/sentence"
	"plimsoll/internal/webpage"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

// The widths in which each figure is drawn; CSS selects the one that fits.
const (
	WideFigure   = 760
	NarrowFigure = 344
)

// mostTableRows is the largest number of table rows on the page; the CSV has all.
const mostTableRows = 300

// Write writes the report as one self-contained page.
func Write(w io.Writer, in report.Input) error {
	t, err := webpage.Parse(pageText, template.FuncMap{"said": AsHTML, "capitalised": capitalised})
	if err != nil {
		return fmt.Errorf("parse the template of the report: %w", err)
	}
	p, err := newPage(report.New(in))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("render the report: %w", err)
	}
	if _, err := w.Write(Unbroken(b.Bytes())); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// page is the data of the template.
type page struct {
	Look webpage.Look

	Name     string
	Title    string
	Badge    webpage.Badge
	Lost     *content.DataBanner // failed checks of data
	Hero     *hero
	Lead     sentence.Sentence
	Caution  string              // warning about the testbed
	Besides  []sentence.Sentence // sentences of the other headlines
	Arms     *armTable
	Limits   []content.LimitLine
	Figures  map[string][]picture
	Asked    []content.Line
	Tuning   *content.TuningRounds
	Testbed  []testbedSection
	Method   []sentence.Sentence
	Why      []content.Reason
	NotWhy   []string
	Untested []string // why no further counter was tested: in general, then one by one
	Advice   *content.Advice
	Ledger   content.Certificate
	Noise    string
	Claims   []content.Claim
	Audited  content.ClaimCounts
	Seed     string
	Version  string
	Command  string
	Study    string
	Data     template.URL
	DataName string
	DataSize string
	DataNote string
}

// mostOpen is the largest number of rows of a table among the explanations that is shown open.
const mostOpen = 10

// picture is a figure of the page.
type picture struct {
	Name         string
	Title        string
	Doc          string
	Note         string
	Wide, Narrow template.HTML
	Table        template.HTML
	Short        string // note on a truncated table
	CSV          template.URL
	File         string
	Rows         string
	First        bool // directly below the question
	Open         bool // shown open: a short table without a figure
}

func newPage(s *report.Sources) (*page, error) {
	f := s.Findings
	p := &page{
		Look:     webpage.LookOf(pageStyle),
		Name:     f.Study,
		Title:    content.Title(s),
		Badge:    content.BadgeOf(s),
		Lost:     content.DataFailed(s),
		Hero:     heroOf(s),
		Lead:     content.LeadSentence(s),
		Caution:  content.Caution(s),
		Besides:  content.BesideSentences(s),
		Arms:     armTableOf(s),
		Limits:   content.Limits(s),
		Figures:  map[string][]picture{},
		Asked:    content.Asked(s),
		Tuning:   content.TuningOf(s),
		Testbed:  testbed(s),
		Why:      content.Reasons(s),
		NotWhy:   f.NotJudged,
		Untested: f.Untested.Lines(),
		Advice:   content.AdviceOf(s),
		Method:   content.Method(s),
		Ledger:   content.CertificateOf(s),
		Noise:    content.NoiseFloor(s),
		Seed:     fmt.Sprint(f.Seed),
		Version:  s.Version,
		Command:  s.Command,
		Study:    strings.ToValidUTF8(string(s.StudyText), "�"),
	}
	p.Claims, p.Audited = content.Claims(s)
	for _, fig := range figure.All() {
		if pic, ok := pictureOf(s, fig); ok {
			at := placeOf(s, fig)
			p.Figures[at] = append(p.Figures[at], pic)
		}
	}
	return p, p.embed(s)
}

// placeOf is the section of a figure. The one with the answer is first.
func placeOf(s *report.Sources, f chart.Figure) string {
	answer := ""
	switch {
	case s.Findings.Tuning != nil:
	case content.PeaksLead(s):
		answer = "rate-latency"
	case s.Findings.ScaleOut != nil:
		answer = "scale-out"
	}
	switch {
	case answer == "":
		return f.Place
	case f.Name == answer:
		return chart.InVerdict
	case f.Name == "forest":
		return chart.InFigures
	}
	return f.Place
}

// pictureOf draws a figure.
func pictureOf(s *report.Sources, f chart.Figure) (picture, bool) {
	t, ok := f.Table(s)
	if !ok {
		return picture{}, false
	}
	csv := t.CSV()
	pic := picture{
		Name: t.Name, Title: t.Title, Doc: f.Doc, Note: t.Note, File: fileName(s.Findings.Study) + "-" + t.Name + ".csv",
		Rows: report.Plural(len(t.Rows), "row", "rows"), Table: html(&t, mostTableRows),
		CSV: template.URL("data:text/csv;charset=utf-8;base64," + base64.StdEncoding.EncodeToString(csv)),
	}
	if len(t.Rows) > mostTableRows {
		pic.Short = fmt.Sprintf("The first %d of %s rows. The CSV has all of them.", mostTableRows, quantity.Count(len(t.Rows)))
	}
	pic.First = placeOf(s, f) == chart.InVerdict
	pic.Open = f.Place == chart.InNoise || f.Place == chart.InPublished || f.Place == chart.InWhy && f.Draw == nil && len(t.Rows) <= mostOpen
	if f.Draw != nil {
		// The drawing escapes all its texts.
		pic.Wide, pic.Narrow = template.HTML(f.Draw(t, WideFigure)), template.HTML(f.Draw(t, NarrowFigure))
	}
	return pic, true
}

// mostWord is the cell length above which a column holds sentences, which need space.
const mostWord = 40

// html is the table as an element with at most the given number of rows.
func html(t *chart.Table, most int) template.HTML {
	var b strings.Builder
	b.WriteString("<table><thead><tr>")
	classes := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		for _, row := range t.Rows {
			switch {
			case row[i].Numeric:
				classes[i] = ` class="n"`
			case len(row[i].Text) > mostWord && classes[i] == "":
				classes[i] = ` class="prose"`
			}
		}
		fmt.Fprintf(&b, `<th scope="col"%s>%s</th>`, classes[i], report.EscapeHTML(c.Name))
	}
	b.WriteString("</tr></thead><tbody>\n")
	for row := range min(len(t.Rows), most) {
		b.WriteString("<tr>")
		for i := range t.Columns {
			fmt.Fprintf(&b, "<td%s>%s</td>", classes[i], report.EscapeHTML(t.Shown(row, i)))
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table>")
	return template.HTML(b.String()) // every cell is escaped above
}

// fileName replaces characters that are unsafe in a file name.
func fileName(s string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			return r
		}
		return '-'
	}, s)
	if strings.Trim(out, "-.") == "" {
		return "study"
	}
	return out
}

// mostValues is the largest number of trials whose values are embedded.
const mostValues = 5000

// embed adds the findings to the page, compressed.
func (p *page) embed(s *report.Sources) error {
	findings := *s.Findings
	if findings.Trials > mostValues {
		findings.Summaries = slices.Clone(findings.Summaries)
		for i := range findings.Summaries {
			findings.Summaries[i].Values, findings.Summaries[i].Blocks = nil, nil
		}
		p.DataNote = " without the values of single trials, of which there are many; findings.json has them"
	}
	data, err := json.Marshal(struct {
		Findings *finding.Findings    `json:"findings"`
		Plan     *plan.Plan           `json:"plan,omitempty"`
		Study    string               `json:"study,omitempty"`
		Testbed  []report.TestbedLine `json:"testbed,omitempty"`
		Version  string               `json:"version,omitempty"`
	}{&findings, s.Plan, p.Study, s.Testbed, s.Version})
	if err != nil {
		return fmt.Errorf("encode the data of the report: %w", err)
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress the data of the report: %w", err)
	}
	if _, err := z.Write(data); err != nil {
		return fmt.Errorf("compress the data of the report: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("compress the data of the report: %w", err)
	}
	p.Data = template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(packed.Bytes()))
	p.DataName = fileName(s.Findings.Study) + "-findings.json.gz"
	p.DataSize = report.Amount(float64(packed.Len()), float64(packed.Len())/20, "B")
	return nil
}

// testbedSection is one section of the testbed's facts.
type testbedSection struct {
	Name  string
	Lines []content.Line
	Long  bool
}

// notReadable begins the value of a fact that could not be read.
const notReadable = "not readable: "

// mostFacts is the number of facts of a section shown by default.
const mostFacts = 12

func testbed(s *report.Sources) []testbedSection {
	var all []testbedSection
	var lacks []content.Line
	for _, t := range s.Testbed {
		if t.Name == content.CautionFact {
			continue // shown at the top
		}
		if reason, found := strings.CutPrefix(t.Value, notReadable); found {
			lacks = append(lacks, content.Line{Name: t.Name, Value: reason})
			continue
		}
		section, name := "", t.Name
		if first, rest, found := strings.Cut(t.Name, "."); found {
			section, name = first, rest
			if second, rest, found := strings.Cut(rest, "."); found && second == "vulnerability" {
				section, name = first+" vulnerabilities", rest
			}
		}
		i := slices.IndexFunc(all, func(x testbedSection) bool { return x.Name == section })
		if i < 0 {
			i = len(all)
			all = append(all, testbedSection{Name: section})
		}
		all[i].Lines = append(all[i].Lines, content.Line{Name: strings.NewReplacer("_", " ", ".", " ").Replace(name), Value: readable(t.Value)})
		all[i].Long = len(all[i].Lines) > mostFacts || strings.HasSuffix(section, " vulnerabilities")
	}
	if len(lacks) > 0 {
		all = append(all, testbedSection{Name: "not readable", Lines: lacks, Long: true})
	}
	for i := range all {
		all[i].Name = strings.Replace(all[i].Name, "cpu", "CPU", 1)
	}
	return all
}

// readable formats a fact that is a number of bytes.
func readable(fact string) string {
	if bytes, found := strings.CutSuffix(fact, " B"); found {
		if n, err := strconv.ParseInt(bytes, 10, 64); err == nil {
			return report.Amount(float64(n), 0, "B")
		}
	}
	return fact
}
