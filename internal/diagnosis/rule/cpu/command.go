package cpu

import (
	"path"
	"strings"
	"unicode"

	"plimsoll/internal/hoststat/cgroup"
)

// container is the short ID of the Docker container whose group this is.
func container(group string) (string, bool) {
	name := path.Base(group)
	if rest, found := strings.CutPrefix(name, "docker-"); found {
		name = strings.TrimSuffix(rest, ".scope")
	} else if path.Base(path.Dir(group)) != "docker" {
		return "", false
	}
	if len(name) < 12 {
		return "", false
	}
	return name[:12], true
}

// folderOf is the folder of a group in the hierarchy of a controller.
func folderOf(g *cgroup.Group, controller string) string {
	if folder := g.Folders[controller]; folder != "" {
		return folder
	}
	if g.Version == 1 {
		return "/sys/fs/cgroup/" + controller + g.Path
	}
	return "/sys/fs/cgroup" + g.Path
}

// containsWord reports whether a text has a word at the beginning of one of its words.
func containsWord(text, word string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		if i += at; i == 0 || !unicode.IsLetter(rune(text[i-1])) {
			return true
		}
		at = i + 1
	}
}
