package cluster

import "slices"

func containsHost(list []HostID, h HostID) bool {
	_, found := slices.BinarySearch(list, h)
	return found
}
