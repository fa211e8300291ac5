package house

import (
	"path"
	"slices"
	"strings"
	"testing"
)

const workloads = "internal/workload/"

// shared lists the folders of workloads that are none.
var shared = []string{"engine", "workloadtest"}

// To add a workload is to write its folder and one line of the catalog: no other file names it.
func TestAWorkloadIsListedOnce(t *testing.T) {
	// The lab reads Iometer's files with the parser of storage.
	also := map[string]string{"internal/lab/compare.go": workloads + "storage"}
	listed := map[string][]string{} // files by workload
	for _, f := range tree(t) {
		if path.Dir(f.folder())+"/" == workloads && !slices.Contains(shared, path.Base(f.folder())) {
			listed[f.folder()] = nil
		}
	}
	if len(listed) < 10 {
		t.Fatalf("only %d workloads", len(listed))
	}
	for _, f := range tree(t) {
		if f.test || strings.HasPrefix(f.path, "bench/") {
			continue
		}
		for _, i := range f.imports {
			name := strings.TrimPrefix(i, "plimsoll/")
			if _, workload := listed[name]; workload && !strings.HasPrefix(f.path, name+"/") && also[f.path] != name {
				listed[name] = append(listed[name], f.path)
			}
		}
	}
	for name, files := range listed {
		if len(files) != 1 || !strings.HasPrefix(files[0], "internal/catalog/") {
			t.Errorf("%s is imported by %q: want one file of the catalog", name, files)
		}
	}
}
