package web

import (
	"fmt"
	"os"
	"strings"
)

const reference = "env:"

// revealed are header fields with the values of variables in place of references such as
// env:TOKEN, which may follow a scheme: "Bearer env:TOKEN". The study, its records and its
// reports hold the reference alone.
func revealed(fields []headerField) ([]headerField, error) {
	var all []headerField
	for _, f := range fields {
		scheme, last := "", f.value
		if i := strings.LastIndexByte(last, ' '); i >= 0 {
			scheme, last = last[:i+1], last[i+1:]
		}
		if name, found := strings.CutPrefix(last, reference); found {
			value, set := os.LookupEnv(name)
			if !set {
				return nil, fmt.Errorf("header %s: the variable %s is not set where the load runs", f.name, name)
			}
			if _, err := printable([]byte(f.name + ": " + value + "\r\n")); err != nil || strings.ContainsAny(value, "\r\n") {
				return nil, fmt.Errorf("header %s: the value of %s contains characters that are invalid in a header", f.name, name)
			}
			f.value = scheme + value
		}
		all = append(all, f)
	}
	return all, nil
}
