package stat

// Normal is the generator of normal numbers, for the tests of rooms below.
type Normal = normal

// NewNormal starts it.
var NewNormal = newNormal
