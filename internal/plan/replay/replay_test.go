package replay

import (
	"slices"
	"testing"
)

// A procedure is told from its start with each new answer, and ends where it lacks one.
func TestRun(t *testing.T) {
	var tape Tape[string, int]
	sum := 0
	tell := func() {
		sum = 0
		for _, q := range []string{"a", "b", "c"} {
			sum += tape.Ask(q)
		}
	}
	var asked []string
	for tape.Run(tell); tape.Asked() != nil; tape.Run(tell) {
		asked = append(asked, *tape.Asked())
		tape.Answers = append(tape.Answers, 1<<len(tape.Answers))
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(asked, want) || sum != 7 || tape.Used() != 3 {
		t.Errorf("asked %v, sum %d, used %d", asked, sum, tape.Used())
	}
}

// A panic that is not a question without an answer is not caught.
func TestPanicsPass(t *testing.T) {
	defer func() {
		if p := recover(); p != "trouble" {
			t.Errorf("recovered %v", p)
		}
	}()
	var tape Tape[int, int]
	tape.Run(func() { panic("trouble") })
}
