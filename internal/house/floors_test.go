package house

import (
	"slices"
	"strings"
	"testing"
)

// TestRoomsStandOnFloors checks that the folders below internal, each taken as one room, import one
// another without a circle: there is an order of floors in which no import runs up.
func TestRoomsStandOnFloors(t *testing.T) {
	imports := map[string][]string{} // by room, with the rooms that it imports
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			if name, ours := strings.CutPrefix(i, "plimsoll/"); ours && room(name) != room(f.folder()) {
				imports[room(f.folder())] = append(imports[room(f.folder())], room(name))
			}
		}
	}
	if len(imports) < 20 {
		t.Fatalf("only %d rooms import another", len(imports))
	}
	if c := circle(imports); c != nil {
		t.Errorf("rooms import each other: %s", strings.Join(c, " -> "))
	}
}

func TestACircleOfRoomsIsFound(t *testing.T) {
	down := map[string][]string{"trial": {"study", "stat"}, "study": {"stat"}, "stat": nil}
	if c := circle(down); c != nil {
		t.Errorf("circle %q in rooms that stand on floors", c)
	}
	down["stat"] = []string{"trial"}
	if c := circle(down); len(c) < 3 || c[0] != c[len(c)-1] {
		t.Errorf("circle %q, want one from a room back to it", c)
	}
}

// room is the folder of a package below internal; all of cmd, and all of bench, are one.
func room(folder string) string {
	parts := strings.Split(folder, "/")
	if parts[0] == "internal" {
		return parts[1]
	}
	return parts[0]
}

// circle follows imports from room to room and returns the first that leads back, else nil.
func circle(imports map[string][]string) []string {
	done := map[string]bool{}
	var visit func(string, []string) []string
	visit = func(r string, path []string) []string {
		if i := slices.Index(path, r); i >= 0 {
			return append(slices.Clone(path[i:]), r)
		}
		if done[r] {
			return nil
		}
		for _, below := range imports[r] {
			if c := visit(below, append(path, r)); c != nil {
				return c
			}
		}
		done[r] = true
		return nil
	}
	for r := range imports {
		if c := visit(r, nil); c != nil {
			return c
		}
	}
	return nil
}
