package hosttest

import (
	"regexp"
	"strings"
	"testing"
)

func TestOutcomeOfAContainedTest(t *testing.T) {
	const text = `=== RUN   TestA
=== RUN   TestA/first
    a_test.go:7: there is no program tc
--- FAIL: TestA (0.00s)
    --- SKIP: TestA/first (0.00s)
    --- PASS: TestA/first_of_two (0.00s)
FAIL
`
	for name, want := range map[string]string{"TestA": "FAIL", "TestA/first": "SKIP", "TestA/first_of_two": "PASS", "TestA/second": "", "A": ""} {
		if got := outcome(name, text); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestExactlyOneTestIsRun(t *testing.T) {
	name := "TestA/Ctrl-C_(twice)/x"
	parts := strings.Split(exactly(name), "/")
	for i, part := range strings.Split(name, "/") {
		if re := regexp.MustCompile(parts[i]); !re.MatchString(part) || re.MatchString(part+"s") || re.MatchString("a"+part) {
			t.Errorf("%s is matched by %s, and nothing else may be", part, parts[i])
		}
	}
}
