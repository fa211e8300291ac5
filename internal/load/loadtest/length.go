package loadtest

import (
	"flag"
	"os"
	"strconv"
	"time"
)

// Whole says whether tests run at their full length, as they do with PLIMSOLL_REAL=1.
func Whole() bool { return os.Getenv("PLIMSOLL_REAL") != "" }

// Short is how long a load runs in a test that holds for loads of any length: a quarter of
// the full length, unless tests run at that.
func Short(full time.Duration) time.Duration {
	if Whole() {
		return full
	}
	return full / 4
}

// First is the first of several cases that differ little, and all of them where tests run at
// their full length.
func First[T any](n int, cases []T) []T {
	if Whole() {
		return cases
	}
	return cases[:n]
}

// Parallel lets so many tests of a program run at once, whatever the number of CPUs, where they
// wait more than they work. TestMain calls
// it. Tests at their full length run as many at once as there are CPUs.
func Parallel(n int) {
	flag.Parse()
	if Whole() {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
