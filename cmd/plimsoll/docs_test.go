package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
)

// docs is where the pages of the guide lie.
const docs = "../../docs"

var example = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// Every example of the guide is a study, or becomes one with the keys that it leaves
// out, and can be planned; those about clusters are cluster files.
func TestExamplesOfTheGuide(t *testing.T) {
	c := catalog.All()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "checkout.txt"), []byte("0.000\n0.013\n60\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	err := filepath.WalkDir(docs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, docs+"/")
		for _, found := range example.FindAllSubmatch(page, -1) {
			if name == "cluster/live-libvirt.md" {
				continue // a list of hosts, which the tests of package live/libvirt read
			}
			if strings.HasPrefix(name, "cluster/") {
				seen[name]++
				if _, err := snapshot.Read("lab.yaml", found[1]); err != nil {
					t.Errorf("%s: %v in\n%s", name, err, found[1])
				}
				continue
			}
			for _, text := range whole(c, name, string(found[1])) {
				seen[name]++
				s, err := file.Parse(filepath.Join(dir, "study.yaml"), []byte(text), c, nil)
				if err == nil {
					_, err = plan.New(s, 1)
				}
				if err != nil {
					t.Errorf("%s: %v in\n%s", name, err, text)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"study.md", "peak.md", "services/several.md", "workloads/web.md", "platforms/sim.md", "factors/governor.md", "cluster/snapshot.md"} {
		if seen[name] == 0 {
			t.Errorf("%s holds no example", name)
		}
	}
	for _, k := range c.Services {
		if seen["services/"+k.Name+".md"] == 0 {
			t.Errorf("the page of the service %s holds no example", k.Name)
		}
	}
	if seen["study.md"] < 7 {
		t.Errorf("study.md has %d examples: its loads are not taken one by one", seen["study.md"])
	}
}

// whole makes studies of an example. One that shows a key several times shows as many
// ways to write it.
func whole(c *study.Catalog, page, text string) []string {
	parts := entries(text)
	keys := map[string]int{}
	for _, part := range parts {
		keys[keyOf(part)]++
	}
	complete := func(parts ...string) string {
		for _, line := range []string{"study: example", "question: Is it one?", "platform: local", "workload: " + workloadOf(c, page)} {
			has := func(part string) bool {
				return keyOf(part) == keyOf(line) || keyOf(line) == "workload" && keyOf(part) == "groups" // which have it
			}
			if !slices.ContainsFunc(parts, has) {
				parts = append(parts, line+"\n")
			}
		}
		return strings.Join(parts, "")
	}
	for _, n := range keys {
		if n > 1 {
			all := make([]string, len(parts))
			for i, part := range parts {
				all[i] = complete(part)
			}
			return all
		}
	}
	return []string{complete(parts...)}
}

// entries parts a text before each line that begins with a key.
func entries(text string) (parts []string) {
	for line := range strings.Lines(text) {
		if n := len(parts); n > 0 && strings.ContainsAny(line[:1], " -#\n") {
			parts[n-1] += line
			continue
		}
		parts = append(parts, line)
	}
	return parts
}

func keyOf(part string) string {
	key, _, _ := strings.Cut(part, ":")
	return key
}

// workloadOf is the workload that an example means which names none: that of its
// page, or the first that talks to the service of its page.
func workloadOf(c *study.Catalog, page string) string {
	name := strings.TrimSuffix(filepath.Base(page), ".md")
	var speaks []string
	for _, k := range c.Services {
		if k.Name == name {
			speaks = k.Speaks
		}
	}
	for _, k := range c.Workloads {
		if k.Name == name || slices.ContainsFunc(k.Speaks, func(p string) bool { return slices.Contains(speaks, p) }) {
			return k.Name
		}
	}
	return "keyvalue"
}

func TestExampleThatIsWrong(t *testing.T) {
	c := catalog.All()
	for _, text := range []string{"factors:\n  redis.io_thread: [1, 2]\n", "load: {rat: 5/s}\n", "service:\n  nginx: {}\n"} {
		all := whole(c, "services/redis.md", text)
		if len(all) != 1 {
			t.Fatalf("%q is %q", text, all)
		}
		if _, err := file.Parse("t.yaml", []byte(all[0]+"service: redis\n"), c, nil); err == nil {
			t.Errorf("%q passes", all[0])
		}
	}
	if all := whole(c, "study.md", "load: closed   # one\nload: {rate: 5/s}\n"); len(all) != 2 || strings.Contains(all[1], "closed") {
		t.Errorf("two ways to write a load are %q", all)
	}
}
