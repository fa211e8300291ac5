package document

// FastLists are the lists of a YAML text whose items are read without the YAML parser, by key, with how many items
// each has; none where the parser reads all of it.
func FastLists(text string) map[string]int {
	if New("", Format{JSON: true}).withoutSections(text) == nil {
		return nil
	}
	out := map[string]int{}
	list, _ := sections(text)
	for _, s := range list {
		out[s.key] = len(s.items.spans)
	}
	return out
}
