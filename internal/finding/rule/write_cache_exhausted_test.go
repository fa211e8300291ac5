package rule

import "testing"

func TestStepDownOfShortSeries(t *testing.T) {
	for n := range 9 {
		if _, ok := stepDown(make([]float64, n)); ok {
			t.Errorf("%d zeros hold a step", n)
		}
	}
}
