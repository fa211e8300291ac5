package trial

import "fmt"

// Left says what the run in a results folder has changed and not put back, a phrase each.
func Left(dir string) (phrases []string) {
	entries, err := ReadJournal(dir)
	if err != nil {
		return nil
	}
	u := outstanding(entries)
	for _, c := range u.settings {
		phrases = append(phrases, fmt.Sprintf("%s (%s)", c.name(), c.former))
	}
	if len(u.loads) > 0 {
		phrases = append(phrases, "files of the workload")
	}
	if len(u.servers) > 0 {
		phrases = append(phrases, "files of the service")
	}
	return phrases
}
