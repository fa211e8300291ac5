package finding_test

import (
	"testing"

	"plimsoll/internal/finding/rule"
)

func TestStepDownOfShortSeries(t *testing.T) {
	for n := range 9 {
		if _, ok := rule.StepDown(make([]float64, n)); ok {
			t.Errorf("%d zeros hold a step", n)
		}
	}
}
