package cluster

import "slices"

func contains(list []VMID, v VMID) bool {
	_, found := slices.BinarySearch(list, v)
	return found
}

func containsHost(list []HostID, h HostID) bool {
	_, found := slices.BinarySearch(list, h)
	return found
}
