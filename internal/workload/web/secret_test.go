package web

import (
	"fmt"
	"strings"
	"testing"
)

func TestReferencesInHeaders(t *testing.T) {
	t.Setenv("PLIMSOLL_TEST_TOKEN", "s3cret")
	t.Setenv("PLIMSOLL_TEST_SPLIT", "a\r\nX: b")
	for header, want := range map[string]string{
		"Authorization: env:PLIMSOLL_TEST_TOKEN":        "[{Authorization s3cret}]",
		"Authorization: Bearer env:PLIMSOLL_TEST_TOKEN": "[{Authorization Bearer s3cret}]",
		"Accept: text/html":                             "[{Accept text/html}]",
	} {
		given, err := parseHeader([]string{header})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := revealed(given); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v", header, got, err)
		}
	}
	for header, want := range map[string]string{
		"Cookie: env:PLIMSOLL_TEST_MISSING": "the variable PLIMSOLL_TEST_MISSING is not set where the load runs",
		"Cookie: env:PLIMSOLL_TEST_SPLIT":   "characters that are invalid in a header",
	} {
		given, _ := parseHeader([]string{header})
		if _, err := revealed(given); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "a\r\n") {
			t.Errorf("%s: %v", header, err)
		}
	}
}
