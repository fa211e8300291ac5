package history

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// TagFile holds the tags of a run, in its results folder: the index is disposable, and tags are not.
const TagFile = "tags.json"

// Keep is the tag of runs that are never pruned.
const Keep = "keep"

const (
	mostTags   = 50
	longestTag = 40
)

type tagFile struct {
	Tags []string `json:"tags"`
}

// tagsOf reads the tags of a run, in order. Damaged ones are none.
func tagsOf(dir string) []string {
	var f tagFile
	if decode(dir, TagFile, &f) != nil {
		return nil
	}
	tags := slices.DeleteFunc(f.Tags, func(tag string) bool { return checkTag(tag) != nil })
	slices.Sort(tags)
	tags = slices.Compact(tags)
	return tags[:min(len(tags), mostTags)]
}

// checkTag returns an error for what is no tag.
func checkTag(tag string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:"
	strange := strings.IndexFunc(tag, func(c rune) bool { return !strings.ContainsRune(allowed, c) })
	if tag == "" || len(tag) > longestTag || strange >= 0 || tag[0] == '-' {
		return fmt.Errorf("%q is no tag: up to %d letters, digits and - _ . : without a - at its beginning", tag, longestTag)
	}
	return nil
}

// SetTags adds tags to a run and removes others, and returns those that it has then.
func SetTags(dir string, add, remove []string) ([]string, error) {
	for _, tag := range append(slices.Clone(add), remove...) {
		if err := checkTag(tag); err != nil {
			return nil, err
		}
	}
	if !exists(dir, "study.yaml") {
		return nil, fmt.Errorf("%s is not a results folder: it has no study.yaml", dir)
	}
	tags := append(tagsOf(dir), add...)
	tags = slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(remove, tag) })
	slices.Sort(tags)
	tags = slices.Compact(tags)
	if len(tags) > mostTags {
		return nil, fmt.Errorf("%s would have %d tags, more than %d", dir, len(tags), mostTags)
	}
	if len(add)+len(remove) == 0 {
		return tags, nil
	}
	text, err := json.MarshalIndent(tagFile{append([]string{}, tags...)}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode tags: %w", err)
	}
	if err := measure.WriteFile(filepath.Join(dir, TagFile), append(text, '\n')); err != nil {
		return nil, fmt.Errorf("write tags: %w", err)
	}
	return tags, nil
}
