package plan_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"plimsoll/internal/plan/coroutine"
)

// sum asks for numbers by their names, and adds them up.
func sum(into *int, names ...string) func(ask func(string) int) {
	return func(ask func(string) int) {
		for _, name := range names {
			*into += ask(name)
		}
	}
}

// A procedure runs once, from question to question, and leaves no goroutine at its end.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := 0
		c := coroutine.Start(sum(&total, "a", "b", "c"))
		var asked []string
		for number := 1; ; number *= 2 {
			name, ok := c.Question()
			if !ok {
				break
			}
			asked = append(asked, name)
			c.Answer(number)
		}
		c.Answer(8)
		c.Stop()
		if want := []string{"a", "b", "c"}; !slices.Equal(asked, want) || total != 7 {
			t.Errorf("asked %v, sum %d", asked, total)
		}
	})
}

// A procedure that is stopped runs its deferred calls and nothing else, and leaves no goroutine.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total, deferred := 0, false
		c := coroutine.Start(func(ask func(string) int) {
			defer func() { deferred = true }()
			sum(&total, "a", "b")(ask)
			total = -1
		})
		c.Answer(1)
		c.Stop()
		c.Stop()
		c.Answer(2)
		if _, ok := c.Question(); ok || total != 1 || !deferred {
			t.Errorf("asks %v, sum %d, deferred %v", ok, total, deferred)
		}
	})
}

// A procedure without a question has ended when Start returns.
func TestNoQuestion(t *testing.T) {
	total := 5
	if _, ok := coroutine.Start(sum(&total)).Question(); ok {
		t.Error("it asks")
	}
}

// A panic of the procedure is one of the caller, who can tell where it was.
func TestPanicsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p, _ := recover().(string); !strings.HasPrefix(p, "trouble\n") || !strings.Contains(p, "troubled") {
				t.Errorf("recovered %q", p)
			}
		}()
		coroutine.Start(troubled).Answer(0)
	})
}

func troubled(ask func(string) int) {
	ask("a")
	panic("trouble")
}
