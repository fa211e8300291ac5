// Package replay runs a deterministic procedure that asks questions, such as a search that needs
// measurements. Each run starts from the beginning with the answers so far and stops at the first
// question without one, so that the procedure is straight code without saved state.
package replay

// Tape holds the answers to the questions of a procedure, in their order.
type Tape[Q, A any] struct {
	Answers []A
	used    int
	asked   *Q
}

// Run runs a procedure up to its first question without an answer, or to its end.
func (t *Tape[Q, A]) Run(procedure func()) {
	t.used, t.asked = 0, nil
	defer func() {
		if t.asked != nil {
			_ = recover() // of Ask
		}
	}()
	procedure()
}

// Ask returns the answer to the next question. Without one it unwinds the procedure to Run by a
// panic that Run recovers, because every step of a search would have to pass on an error otherwise.
func (t *Tape[Q, A]) Ask(q Q) A {
	if t.used == len(t.Answers) {
		t.asked = &q
		panic("replay: a question without an answer, asked outside of Run")
	}
	t.used++
	return t.Answers[t.used-1]
}

// Used is the number of answers that the procedure has used.
func (t *Tape[Q, A]) Used() int { return t.used }

// Asked is the question without an answer; nil where the procedure has ended.
func (t *Tape[Q, A]) Asked() *Q { return t.asked }
