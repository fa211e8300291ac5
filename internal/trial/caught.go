package trial

import (
	"fmt"
	"runtime/debug"
)

// caught does something and makes a panic in it an error: a mistake in plimsoll must not keep
// it from putting the machine back.
func caught(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("internal error in plimsoll, please report it: %v\n%s", p, debug.Stack())
		}
	}()
	return do()
}
