package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
	"plimsoll/internal/report"
	"plimsoll/internal/report/junit"
)

// node is an element of XML with its attributes and children.
type node struct {
	name       string
	attributes map[string]string
	children   []*node
	text       string
}

func readXML(t *testing.T, text []byte) *node {
	t.Helper()
	root := &node{}
	stack := []*node{root}
	for d := xml.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return root.children[0]
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		at := stack[len(stack)-1]
		switch token := token.(type) {
		case xml.StartElement:
			e := &node{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			at.children, stack = append(at.children, e), append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			at.text += string(token)
		}
	}
}

// suiteSchema is that of Apache Ant's reports as an XML schema: the children of an element in their order, a name that ends in * any number of
// times and in ? at most once, and its attributes, of which those that end in ? may be absent.
var suiteSchema = map[string]struct{ children, attributes []string }{
	"testsuite":  {[]string{"properties", "testcase*", "system-out", "system-err"}, []string{"name", "timestamp", "hostname", "tests", "failures", "errors", "skipped?", "time"}},
	"properties": {[]string{"property*"}, nil},
	"property":   {nil, []string{"name", "value"}},
	"testcase":   {[]string{"skipped?", "error?", "failure?"}, []string{"name", "classname", "time"}},
	"skipped":    {nil, []string{"message?"}},
	"error":      {nil, []string{"message?", "type"}},
	"failure":    {nil, []string{"message?", "type"}},
	"system-out": {}, "system-err": {},
}

// faults says how an element breaks the schema.
func faults(e *node) (all []string) {
	rule, known := suiteSchema[e.name]
	if !known {
		return []string{"unknown element " + e.name}
	}
	left := e.children
	for _, child := range rule.children {
		name := strings.TrimRight(child, "*?")
		n := 0
		for len(left) > 0 && left[0].name == name {
			left, n = left[1:], n+1
		}
		if n == 0 && name == child || n > 1 && !strings.HasSuffix(child, "*") {
			all = append(all, e.name+" has "+strconv.Itoa(n)+" "+name)
		}
	}
	if len(left) > 0 {
		all = append(all, e.name+" has "+left[0].name+" out of order")
	}
	for _, a := range rule.attributes {
		if _, has := e.attributes[strings.TrimSuffix(a, "?")]; !has && !strings.HasSuffix(a, "?") {
			all = append(all, e.name+" has no "+a)
		}
	}
	for a := range e.attributes {
		if !slices.Contains(rule.attributes, a) && !slices.Contains(rule.attributes, a+"?") {
			all = append(all, e.name+" has "+a)
		}
	}
	for _, child := range e.children {
		all = append(all, faults(child)...)
	}
	return all
}

func suiteOf(t *testing.T, in report.Input, trouble error) *node {
	t.Helper()
	var text bytes.Buffer
	if err := junit.Write(&text, in, trouble); err != nil {
		t.Fatal(err)
	}
	suite := readXML(t, text.Bytes())
	if all := faults(suite); len(all) > 0 {
		t.Errorf("%s\n%s", strings.Join(all, "\n"), text.Bytes())
	}
	counts := map[string]int{}
	for _, c := range suite.children {
		if c.name != "testcase" {
			continue
		}
		counts["tests"]++
		if len(c.children) > 1 {
			t.Errorf("%s has %d outcomes", c.attributes["name"], len(c.children))
		}
		for _, outcome := range c.children {
			counts[map[string]string{"failure": "failures", "error": "errors", "skipped": "skipped"}[outcome.name]]++
		}
	}
	for _, name := range []string{"tests", "failures", "errors", "skipped"} {
		if suite.attributes[name] != strconv.Itoa(counts[name]) {
			t.Errorf("%s is %s, and there are %d", name, suite.attributes[name], counts[name])
		}
	}
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`).MatchString(suite.attributes["timestamp"]) || suite.attributes["hostname"] == "" {
		t.Errorf("%v", suite.attributes)
	}
	return suite
}

// results are the names of the cases with their outcomes.
func results(suite *node) map[string]string {
	all := map[string]string{}
	for _, c := range suite.children {
		if c.name == "testcase" {
			all[c.attributes["name"]] = "passed"
			for _, o := range c.children {
				all[c.attributes["name"]] = o.name
			}
		}
	}
	return all
}

func TestJUnitOfAllFixtures(t *testing.T) {
	for name := range fixtures() {
		suite := suiteOf(t, rendered(t, name), nil)
		f := rendered(t, name).Findings
		if got, want := len(results(suite)), 1+len(f.Limits)+len(f.Headlines)+len(f.Certificate); got != want {
			t.Errorf("%s: %d cases with different names, want %d", name, got, want)
		}
	}
}

// Each outcome of a case, and of a run.
func TestJUnitTellsOutcomesApart(t *testing.T) {
	in := rendered(t, "decided")
	f := *in.Findings
	f.Limits = []finding.LimitResult{{Limit: "p99 <= 20ms", State: measure.Pass}, {Limit: "p90 <= 1us", Arm: 1, Value: .5, State: measure.Fail}, {Limit: "max <= 1s", State: measure.Unknown}}
	f.Headlines = nil
	for i, v := range []finding.Verdict{finding.Better, finding.Worse, finding.Equivalent, finding.Different, finding.Changed, finding.NotEnoughRuns} {
		h := in.Findings.Headlines[0]
		h.Metric.Name, h.Verdict = "m"+strconv.Itoa(i), v
		f.Headlines = append(f.Headlines, h)
	}
	f.Certificate = []measure.Check{{Name: "a", State: measure.Pass}, {Name: "b", State: measure.Fail, Detail: "<&\x00>"}, {Name: "c", State: measure.Unknown}}
	f.DataFailures = []finding.DataFailure{{Trial: 1, Check: "rows", Detail: "lost"}}
	in.Findings = &f
	got := results(suiteOf(t, in, nil))
	for name, want := range map[string]string{
		"run": "passed", "data": "failure", "m0": "passed", "m1": "failure", "m2": "passed", "m3": "skipped", "m4": "passed", "m5": "skipped",
		"check: a": "passed", "check: b": "error", "check: c": "skipped", "limit: p99": "passed", "limit: p90": "failure", "limit: max": "skipped",
	} {
		found := false
		for key, outcome := range got {
			if key == name || strings.HasPrefix(key, "headline: "+name+" ") || strings.HasPrefix(name, "limit: ") && strings.HasPrefix(key, name) {
				found = true
				if outcome != want {
					t.Errorf("%s: %s, want %s", key, outcome, want)
				}
			}
		}
		if !found {
			t.Errorf("no case %s among %v", name, got)
		}
	}
	if got := results(suiteOf(t, in, errors.New("the disk is full")))["run"]; got != "error" {
		t.Errorf("a run that ended early: %s", got)
	}
	f.Blocks = 0
	if got := results(suiteOf(t, in, nil))["run"]; got != "error" {
		t.Errorf("a run without a block: %s", got)
	}
}

// The reader of these tests refuses what breaks the schema.
func TestTheSchemaOfJUnitBites(t *testing.T) {
	for text, want := range map[string]string{
		`<testsuite name="a"/>`: "no timestamp",
		`<testcase name="a" classname="b" time="0"><failure type="x"/><error type="y"/></testcase>`: "out of order",
		`<testcase name="a" classname="b" time="0" color="red"/>`:                                   "has color",
		`<properties><testcase/></properties>`:                                                      "out of order",
	} {
		if all := strings.Join(faults(readXML(t, []byte(text))), "; "); !strings.Contains(all, want) {
			t.Errorf("%s: %s, want %s", text, all, want)
		}
	}
}
