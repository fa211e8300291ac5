package model

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/cluster"
)

// indexes numbers the networks and datastores of the hosts by name.
func (s *clusterConfig) indexes(c *cluster.Cluster) map[reference]int32 {
	refs := make([]reference, 0, len(s.names))
	for ref := range s.names {
		refs = append(refs, ref)
	}
	slices.SortFunc(refs, func(a, b reference) int {
		return cmp.Or(strings.Compare(s.names[a], s.names[b]), compareNames(a.Value, b.Value))
	})
	index := map[reference]int32{}
	for _, ref := range refs {
		list := &c.Networks
		if ref.Type == "Datastore" {
			list = &c.Datastores
		}
		index[ref] = int32(len(*list))
		*list = append(*list, s.names[ref])
	}
	return index
}
