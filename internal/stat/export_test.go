package stat

// Normal is the generator of normal numbers, for the tests of rooms below.
type Normal = normal

// NewNormal starts it.
var NewNormal = newNormal

// Some are the first of several settings in fast tests, and otherwise all.
func Some[T any](all ...T) []T { return some(all...) }
