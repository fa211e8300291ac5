// Package replay lets a procedure that asks questions be written as one would tell it. It is told
// from its start each time, with the answers so far, and so needs no state but them.
package replay

// Tape holds the answers to the questions of a procedure, in their order.
type Tape[Q, A any] struct {
	Answers []A
	used    int
	asked   *Q
}

// Run tells a procedure up to its first question without an answer, or to its end.
func (t *Tape[Q, A]) Run(tell func()) {
	t.used, t.asked = 0, nil
	defer func() {
		if t.asked != nil {
			_ = recover() // of Ask
		}
	}()
	tell()
}

// Ask is the answer to the next question. Where there is none yet, it ends the procedure.
func (t *Tape[Q, A]) Ask(q Q) A {
	if t.used == len(t.Answers) {
		t.asked = &q
		panic("replay: a question without an answer, asked outside of Run")
	}
	t.used++
	return t.Answers[t.used-1]
}

// Used is how many answers the procedure took.
func (t *Tape[Q, A]) Used() int { return t.used }

// Asked is the question without an answer; nil where the procedure came to its end.
func (t *Tape[Q, A]) Asked() *Q { return t.asked }
