package main

import (
	"fmt"
	"os"
	"strconv"

	"plimsoll/bench/truth"
)

// truths prints error rates and power, of as many studies as asked for.
func truths(arguments []string) error {
	studies := truth.Studies
	if len(arguments) > 0 {
		n, err := strconv.Atoi(arguments[0])
		if err != nil || n < 1 {
			return fmt.Errorf("bench truth: %q is not a number of studies", arguments[0])
		}
		studies = n
	}
	return truth.Print(studies, os.Stdout)
}
