package file_test

import (
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/credential"
)

func TestCredentialsAreWarnedOf(t *testing.T) {
	for value, want := range map[string]string{
		`["Authorization: Bearer abc"]`:               "the value of Authorization",
		`["Accept: text/html", "Cookie: session=1"]`:  "the value of Cookie",
		`["x-api-key: 1"]`:                            "the value of x-api-key",
		`["Proxy-Authorization: Basic Zm9vOmJhcg=="]`: "the value of Proxy-Authorization",
		"https://user:pass@host/":                     "the password in an address",
		"/a?b=1&api_key=5":                            "the parameter api_key of an address",
		`["Authorization: env:TOKEN"]`:                "",
		`["Authorization: Bearer env:TOKEN"]`:         "",
		`["Accept: text/html", "Host: a.example"]`:    "",
		"https://user:env:PASS@host/":                 "",
		"https://host/a:b@c":                          "",
		"/tokens?page=2":                              "",
	} {
		s := &study.Study{Workload: study.Use{Kind: "web", Settings: parameter.Settings{"headers": value}}}
		got := strings.Join(credential.Warnings(s), "; ")
		if want != "" {
			want = "web.headers: " + want + " is published with the results: give a reference instead, such as env:NAME"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

func TestCredentialsInSettingsFactorsAndCommands(t *testing.T) {
	s := &study.Study{
		Service:  &study.Use{Kind: "postgresql", Settings: parameter.Settings{"password": "hunter2", "user": "me"}},
		Groups:   []study.Group{{Name: "g", Workload: &study.Use{Kind: "web", Settings: parameter.Settings{"headers": "[\"Cookie: a\"]"}}}},
		Factors:  []study.Factor{{Name: "web.headers", Parameter: "headers", Levels: []string{"[]", `["Authorization: x"]`}}},
		Commands: []study.Command{{Name: "c", Read: "curl -u me:pw host", Apply: "curl -H 'Authorization: Bearer x' host", Restore: "PGPASSWORD=$PW psql"}},
		Measure:  study.Measure{Energy: &study.Energy{Command: "curl -u me:pw pdu/4"}},
	}
	var places []string
	for _, w := range credential.Warnings(s) {
		place, _, _ := strings.Cut(w, ": ")
		places = append(places, place)
	}
	if got, want := strings.Join(places, " "), "postgresql.password groups.g.web.headers factors.web.headers commands.c commands.c measure.energy"; got != want {
		t.Errorf("%s, want %s: %q", got, want, credential.Warnings(s))
	}
	s.Service.Settings["password"] = "env:PGPASSWORD"
	if len(credential.Warnings(s)) != 5 {
		t.Errorf("%q", credential.Warnings(s))
	}
}
