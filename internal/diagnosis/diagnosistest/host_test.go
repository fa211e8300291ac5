package diagnosistest_test

import (
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/diagnosis/rule"
)

// On a healthy host no rule finds anything, however many CPUs it has.
func TestHealthyHosts(t *testing.T) {
	for _, cpus := range []int{1, 2, 4, 16, 64, 256} {
		found, _ := diagnosis.Judge(diagnosistest.Healthy(cpus), rule.All())
		for _, f := range found {
			t.Errorf("%d CPUs: %s: %s", cpus, f.Rule, f.Says)
		}
	}
}
