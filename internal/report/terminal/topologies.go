package terminal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// topologies lists the differences between the arms' topologies.
func (t *terminal) topologies(s *report.Sources) {
	const most = 6
	_, rows := content.Topologies(s)
	var differences []string
	for _, r := range rows {
		if r.Differs() {
			shown := slices.Clone(r.Values)
			for i := range shown {
				shown[i] = cmp.Or(shown[i], "none")
			}
			differences = append(differences, r.Name+" "+strings.Join(shown, " / "))
		}
	}
	if len(differences) == 0 {
		return
	}
	if more := len(differences) - most; more > 0 {
		differences = append(differences[:most], fmt.Sprintf("and %d more", more))
	}
	t.wrap("Topology differs: ", "  ", strings.Join(differences, "; ")+".")
}
