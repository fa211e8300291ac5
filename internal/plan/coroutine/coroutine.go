// Package coroutine runs a procedure that asks questions, such as a search that needs
// measurements. The procedure is straight code without saved state: it is suspended at each
// question until the answer comes.
package coroutine

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Coroutine is a procedure that is suspended at a question, or has ended. It runs on its own
// goroutine, and only while its caller waits in Start, Answer or Stop. It is not safe for
// concurrent use.
type Coroutine[Q, A any] struct {
	questions chan Q // closed when the procedure has ended
	answers   chan A // closed where no more come
	question  Q
	asks      bool
	bug       string // a panic of the procedure, with its stack
}

// Start runs a procedure up to its first question. An unfinished procedure must be stopped.
func Start[Q, A any](procedure func(ask func(Q) A)) *Coroutine[Q, A] {
	c := &Coroutine[Q, A]{questions: make(chan Q), answers: make(chan A)}
	go c.run(procedure)
	c.await()
	return c
}

func (c *Coroutine[Q, A]) run(procedure func(ask func(Q) A)) {
	defer close(c.questions)
	defer func() {
		if p := recover(); p != nil {
			c.bug = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	procedure(c.ask)
}

// ask returns only with an answer. On Stop the goroutine ends here, so that the procedure need
// not return errors.
func (c *Coroutine[Q, A]) ask(question Q) A {
	c.questions <- question
	answer, ok := <-c.answers
	if !ok {
		runtime.Goexit()
	}
	return answer
}

// await waits for the next question or the end. It repeats a panic of the procedure in the
// caller.
func (c *Coroutine[Q, A]) await() {
	if c.question, c.asks = <-c.questions; c.bug != "" {
		panic(c.bug)
	}
}

// Question returns the question to answer; ok is false after the end.
func (c *Coroutine[Q, A]) Question() (question Q, ok bool) { return c.question, c.asks }

// Answer answers the question, and runs the procedure up to its next one. After the end it has
// no effect.
func (c *Coroutine[Q, A]) Answer(answer A) {
	if c.asks {
		c.answers <- answer
		c.await()
	}
}

// Stop ends the procedure at its question, if it has not ended.
func (c *Coroutine[Q, A]) Stop() {
	if c.asks {
		close(c.answers)
		c.await()
	}
}
