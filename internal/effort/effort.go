// Package effort says how often tests repeat what takes CPU time.
package effort

import (
	"os"
	"testing"
)

// part is the part of the repetitions that tests make without PLIMSOLL_DEEP=1.
const part = 4

// Of is n with PLIMSOLL_DEEP=1, and a quarter of it otherwise.
func Of(n int) int {
	if Full() {
		return n
	}
	return max(1, n/part)
}

// Full reports whether tests make all repetitions.
func Full() bool { return os.Getenv("PLIMSOLL_DEEP") != "" }

// Rate is the number of seeded studies with which a test measures a rate: all with PLIMSOLL_DEEP=1,
// few otherwise.
func Rate(few, all int) int {
	if Full() {
		return all
	}
	return few
}

// Deep skips a test that takes long, unless PLIMSOLL_DEEP=1. The text says what the test does then.
func Deep(t testing.TB, does string) {
	t.Helper()
	if !Full() {
		t.Skipf("set PLIMSOLL_DEEP=1 as well to %s", does)
	}
}

// fast reports whether tests drive nothing real and make few repetitions.
func fast() bool { return os.Getenv("PLIMSOLL_REAL") == "" && !Full() }
