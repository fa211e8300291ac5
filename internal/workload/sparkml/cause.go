package sparkml

import (
	"errors"
	"fmt"
	"strings"
)

// known is what the user can do about a failure that Spark tells in many lines; empty for one that is not known.
func (l *learning) known(said string) string {
	for _, c := range []struct{ sign, remedy string }{
		{"Terminating due to java.lang.OutOfMemoryError", fmt.Sprintf("the driver is out of memory: raise sparkml.driver_memory, which is %s, or lower rows or features", l.DriverMemory)},
		{"No space left on device", "the disk with Spark's local folder is full: free space, or lower rows"},
		{"java.lang.OutOfMemoryError", "an executor is out of memory: raise spark.memory, or lower rows or features"},
		{"UnsupportedClassVersionError", "the driver's Java does not run this Spark: name another with sparkml.java"},
		{"All masters are unresponsive", "the master does not answer: is it running, and of the same version?"},
		{"Address already in use", "a port of the driver is taken: run the study again"},
		{"ExecutorLostFailure", "executors were lost and the training was given up"},
		{"Master removed our application", "the master ended the application: its executors could not start"},
	} {
		if strings.Contains(said, c.sign) {
			return c.remedy
		}
	}
	return ""
}

// explain is the error of a failure: what can be done, and its first line.
func (l *learning) explain(said string) error {
	first, _, _ := strings.Cut(said, "\n")
	const most = 300
	if len(first) > most {
		first = strings.ToValidUTF8(first[:most], "") + " ..."
	}
	if known := l.known(said); known != "" {
		return fmt.Errorf("%s (%s)", known, first)
	}
	return errors.New(first)
}
