package journal

import "fmt"

// Left lists the changes that the run in a results folder has not put back, a phrase each.
func Left(dir string) []string {
	if logs, err := UndoFolder(); err == nil {
		if all, err := ListUnfinished(logs); err == nil {
			for _, u := range all {
				if u.Dir != dir {
					continue
				}
				if entries, err := readLog(u.Log); err == nil {
					return LeftBy(entries)
				}
			}
		}
	}
	return nil
}

// LeftBy lists the changes that entries leave to be put back, a phrase each.
func LeftBy(entries []Entry) (phrases []string) {
	u := outstanding(entries)
	for _, c := range u.Settings {
		phrases = append(phrases, fmt.Sprintf("%s (%s)", c.Name(), c.Former))
	}
	if len(u.Loads) > 0 {
		phrases = append(phrases, "files of the workload")
	}
	if len(u.Servers) > 0 {
		phrases = append(phrases, "files of the service")
	}
	return phrases
}
