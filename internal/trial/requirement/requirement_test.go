package requirement

import (
	"errors"
	"testing"
)

func TestAnswers(t *testing.T) {
	var a answers[int]
	asked := 0
	next := func() (int, error) { asked++; return asked, nil }
	broken := errors.New("no answer")
	if _, err := a.of("one", func() (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	for _, c := range []struct {
		question string
		want     int
	}{{"one", 1}, {"two", 2}, {"one", 1}, {"two", 2}} {
		if got, err := a.of(c.question, next); got != c.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", c.question, got, err, c.want)
		}
	}
}
