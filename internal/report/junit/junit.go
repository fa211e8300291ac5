// Package junit writes the findings of a study as a test suite in the XML format of JUnit, for the test reports of CI systems.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// suite is the element testsuite, as Apache Ant writes it.
type suite struct {
	XMLName    xml.Name   `xml:"testsuite"`
	Name       string     `xml:"name,attr"`
	Timestamp  string     `xml:"timestamp,attr"` // UTC, without a zone
	Hostname   string     `xml:"hostname,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"` // seconds
	Properties []property `xml:"properties>property"`
	Cases      []testcase `xml:"testcase"`
	Out        string     `xml:"system-out"`
	Err        string     `xml:"system-err"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Skipped *outcome `xml:"skipped"`
	Error   *outcome `xml:"error"`
	Failure *outcome `xml:"failure"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes the suite of a study: a case for each limit, each comparison of a headline, each check of the certificate, the data checks
// and the run. Missed and worse is a failure; what could not be decided, for lack of runs or of a value, is skipped; failed checks and a run
// that ended early are errors. trouble is why it ended early; nil if it did not.
func Write(w io.Writer, in report.Input, trouble error) error {
	s := report.New(in)
	b := builder{s: s, class: s.Findings.Study}
	b.run(trouble)
	b.limits()
	b.headlines()
	b.checks()
	text, err := xml.MarshalIndent(b.suite(), "", "  ")
	if err != nil {
		return fmt.Errorf("encode JUnit report of %s: %w", b.class, err)
	}
	if _, err := fmt.Fprintf(w, "%s%s\n", xml.Header, text); err != nil {
		return fmt.Errorf("write JUnit report of %s: %w", b.class, err)
	}
	return nil
}

type builder struct {
	s     *report.Sources
	class string
	cases []testcase
}

func (b *builder) add(name string, set func(*testcase)) {
	c := testcase{Name: name, Class: b.class, Time: "0"}
	if set != nil {
		set(&c)
	}
	b.cases = append(b.cases, c)
}

func failed(kind, message string) func(*testcase) {
	return func(c *testcase) { c.Failure = &outcome{Message: message, Type: kind, Text: message} }
}

func broken(kind, message string) func(*testcase) {
	return func(c *testcase) { c.Error = &outcome{Message: message, Type: kind, Text: message} }
}

func skipped(message string) func(*testcase) {
	return func(c *testcase) { c.Skipped = &outcome{Message: message} }
}

// run is the run itself, and the data that it verified.
func (b *builder) run(trouble error) {
	f := b.s.Findings
	switch {
	case trouble != nil:
		b.add("run", broken("trouble", trouble.Error()))
	case f.Blocks == 0:
		b.add("run", broken("void", fmt.Sprintf("no block was completed: %d of %d trials are void", len(f.Void), f.Trials)))
	default:
		b.add("run", nil)
	}
	if lost := f.DataVerdict(); lost != "" {
		b.add("data", failed("data", lost))
	}
}

func (b *builder) limits() {
	for _, l := range content.Limits(b.s) {
		name := "limit: " + l.Limit + b.of(l.Arm)
		switch l.State {
		case "kept":
			b.add(name, nil)
		case "missed":
			b.add(name, failed("missed", "measured: "+l.Value))
		default:
			b.add(name, skipped("no value was measured"))
		}
	}
}

// of names an arm where there are several.
func (b *builder) of(arm string) string {
	if b.s.Arms() < 2 {
		return ""
	}
	return " (" + arm + ")"
}

func (b *builder) headlines() {
	for i := range b.s.Findings.Headlines {
		h := &b.s.Findings.Headlines[i]
		name := fmt.Sprintf("headline: %s (%s against %s)", h.Metric.Name, b.s.Brief(h.Arm), b.s.Brief(0))
		sentence := report.Plain(h.Sentence)
		switch h.Verdict {
		case finding.Worse:
			b.add(name, failed(string(finding.Worse), sentence))
		case finding.NotEnoughRuns, finding.Different:
			b.add(name, skipped(string(h.Verdict)+": "+sentence))
		default:
			b.add(name, nil)
		}
	}
}

func (b *builder) checks() {
	for _, c := range b.s.Findings.Certificate {
		switch c.State {
		case measure.Pass:
			b.add("check: "+c.Name, nil)
		case measure.Fail:
			b.add("check: "+c.Name, broken("check", c.Detail))
		default:
			b.add("check: "+c.Name, skipped(c.Detail))
		}
	}
}

// suite counts the cases, and adds what is known of the run.
func (b *builder) suite() suite {
	f := b.s.Findings
	out := suite{Name: f.Study, Hostname: "localhost", Cases: b.cases, Tests: len(b.cases), Out: report.Plain(content.LeadSentence(b.s)), Err: b.voids()}
	for _, c := range b.cases {
		switch {
		case c.Failure != nil:
			out.Failures++
		case c.Error != nil:
			out.Errors++
		case c.Skipped != nil:
			out.Skipped++
		}
	}
	for _, line := range b.s.Testbed {
		if line.Name == "machine.name" && line.Value != "" {
			out.Hostname = line.Value
		}
	}
	var begin, end time.Time
	for i := range b.s.InOrder {
		r := &b.s.InOrder[i]
		if i == 0 {
			begin = r.Start
		}
		end = r.End
	}
	out.Timestamp, out.Time = begin.UTC().Format("2006-01-02T15:04:05"), strconv.FormatFloat(max(0, end.Sub(begin).Seconds()), 'f', 3, 64)
	for _, p := range [][2]string{
		{"question", f.Question}, {"seed", strconv.FormatUint(f.Seed, 10)}, {"blocks", strconv.Itoa(f.Blocks)}, {"trials", strconv.Itoa(f.Trials)},
		{"margin", report.Exact(f.Margin)}, {"plimsoll", b.s.Version}, {"command", b.s.Command},
	} {
		if p[1] != "" {
			out.Properties = append(out.Properties, property{p[0], p[1]})
		}
	}
	return out
}

// voids are the void trials, one per line.
func (b *builder) voids() string {
	var text strings.Builder
	for _, v := range b.s.Findings.Void {
		fmt.Fprintf(&text, "trial %d is void: %s\n", v.Trial, v.Cause)
	}
	return text.String()
}
