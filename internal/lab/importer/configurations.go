package importer

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/internal/lab"
	"plimsoll/internal/lab/hcistudy"
	"plimsoll/internal/measure"
	"plimsoll/internal/measure/imported"
	"plimsoll/internal/study"
	"plimsoll/internal/study/file"
	"plimsoll/internal/workload/storage/iometer"
)

// configurations converts configurations, and returns a line per file written.
func configurations(catalog *study.Catalog, paths []string, dir string) ([]string, error) {
	var lines, others []string
	for _, path := range paths {
		switch ext := strings.ToLower(filepath.Ext(path)); ext {
		case ".icf":
			written, err := importICF(path, dir)
			lines = append(lines, written...)
			if err != nil {
				return lines, err
			}
		case ".json", ".csv", ".txt", ".log", ".xml", ".html", ".out":
			return lines, lab.Mistake(imported.Unrecognised(path))
		default:
			others = append(others, path)
		}
	}
	if len(others) == 0 {
		return lines, nil
	}
	written, err := importHCIBench(catalog, others, dir)
	return append(lines, written...), err
}

// importHCIBench converts parameter files, with the configuration if it is among them.
func importHCIBench(catalog *study.Catalog, paths []string, dir string) ([]string, error) {
	var c *hcistudy.Configuration
	var files []*hcistudy.Parameters
	for _, path := range paths {
		const most = 4 << 20 // bytes of a configuration
		if info, err := os.Stat(path); err == nil && info.Size() > most {
			return nil, lab.Mistake(imported.Unrecognised(path))
		}
		data, err := measure.ReadImported(path)
		if err != nil {
			return nil, lab.Mistake(fmt.Errorf("import: %w", err))
		}
		switch ext := strings.ToLower(filepath.Ext(path)); {
		case ext != ".yaml" && ext != ".yml" && filepath.Base(path) != "hcibench.cfg":
			p, err := hcistudy.ReadParameters(path, data)
			if err != nil {
				return nil, lab.Mistake(err)
			}
			files = append(files, p)
		case c != nil:
			return nil, lab.Mistake(fmt.Errorf("%s: a second configuration: import one at a time", path))
		default:
			if c, err = hcistudy.ReadConfiguration(path, data); err != nil {
				return nil, lab.Mistake(err)
			}
		}
	}
	studies, lines, err := hcistudy.Studies(c, files)
	if err != nil {
		return nil, lab.Mistake(err)
	}
	if len(studies)+len(lines) == 0 {
		return nil, lab.Mistake(fmt.Errorf("%s has no load: name the parameter files, too", paths[0]))
	}
	for _, s := range studies {
		if _, err := file.Parse("the study of "+s.Name, []byte(s.Text), catalog, nil); err != nil {
			return lines, lab.Mistake(err)
		}
		written, err := writeStudy(dir, s.Name, s.Text)
		if err != nil {
			return lines, err
		}
		lines = append(lines, written)
	}
	return lines, nil
}

// writeStudy writes a study, and returns the line that says so.
func writeStudy(dir, name, text string) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create folder for studies: %w", err)
	}
	file := filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write study: %w", err)
	}
	return "wrote " + file, nil
}

func importICF(path, dir string) ([]string, error) {
	data, err := measure.ReadImported(path)
	if err != nil {
		return nil, lab.Mistake(fmt.Errorf("read Iometer configuration: %w", err))
	}
	specs, err := iometer.ImportICF(bytes.NewReader(data))
	if err != nil {
		return nil, lab.Mistake(fmt.Errorf("%s: %w", path, err))
	}
	var lines []string
	for _, s := range specs {
		name := fileName(s.Name)
		text := fmt.Sprintf("# From %s: %q\nstudy: %s\nquestion: What does this platform carry under %s?\nplatform: local\nworkload:\n  storage: {block: %s, read: %s, random: %s}\n",
			filepath.Base(path), s.Name, name, name, s.Block, s.Read, s.Random)
		written, err := writeStudy(dir, name, text)
		if err != nil {
			return lines, err
		}
		lines = append(lines, written)
	}
	return lines, nil
}

// fileName converts the name of a specification to a valid name for a file and a study.
func fileName(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	if len(words) == 0 {
		return "unnamed"
	}
	return strings.Join(words, "-")
}
