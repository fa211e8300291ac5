package diagnosis

import "testing"

// A finding names the cause that none explains, whatever the order of the rules.
func TestChainsOfCauses(t *testing.T) {
	finds := func(name, subject string, confidence Confidence, explains ...string) Rule {
		return Rule{Name: name, Explains: explains, Check: func(*Evidence) []Finding { return []Finding{{Subject: subject, Confidence: confidence}} }}
	}
	quota := finds("quota", "db", Likely, "waits")
	waits := finds("waits", "db", Certain, "slow", "quota") // in turn, as rules may
	slow := finds("slow", "", Certain)
	other := finds("other", "web", Certain, "waits")
	for _, rules := range [][]Rule{{quota, waits, slow, other}, {slow, waits, quota, other}, {waits, other, slow, quota}} {
		found, _ := Judge(&Evidence{}, rules)
		cause := map[string]string{}
		for _, f := range found {
			cause[f.Rule] = f.Cause
		}
		want := map[string]string{"quota": "", "waits": "quota", "slow": "quota", "other": ""}
		if rules[0].Name != "quota" { // the first of two that explain each other is the cause
			want = map[string]string{"quota": "waits", "waits": "", "slow": "waits", "other": ""}
		}
		for name, of := range want {
			if cause[name] != of {
				t.Errorf("%s first: %s follows from %q, want %q", rules[0].Name, name, cause[name], of)
			}
		}
		if found[0].Cause != "" || found[len(found)-1].Cause == "" {
			t.Errorf("%s first: consequences are not last: %+v", rules[0].Name, found)
		}
	}
}
