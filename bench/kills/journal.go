package kills

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
)

// event is a line of a journal, as far as a campaign reads it.
type event struct {
	Kind    string
	Trial   int
	Setting *struct{ Factor, Target, Machine, Former, Seen string }
}

// readJournal reads the complete lines of a journal. A run that was killed before it began has none.
func readJournal(name string) (all []event, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for line := range strings.Lines(string(text)) {
		var e event
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &e) == nil {
			all = append(all, e)
		}
	}
	return all, err
}

// inEffect says whether a setting reads back as another level than it had before the run.
func inEffect(journal []event) bool {
	type key struct{ factor, target, machine string }
	former, now := map[key]string{}, map[key]string{}
	for _, e := range journal {
		if e.Setting == nil {
			continue
		}
		k := key{e.Setting.Factor, e.Setting.Target, e.Setting.Machine}
		switch e.Kind {
		case "change":
			if _, known := former[k]; !known {
				former[k], now[k] = e.Setting.Former, e.Setting.Former
			}
		case "changed":
			now[k] = e.Setting.Seen
		case "restored", "left":
			delete(former, k)
			delete(now, k)
		}
	}
	for k, level := range now {
		if level != former[k] {
			return true
		}
	}
	return false
}
