package config

import "strings"

// ModelledTimes is the setting of plimsoll's simulator that enables modelled times of operations.
// Other vCenters lack it.
const ModelledTimes = "plimsoll.modelledTimes"

// vSphere escapes three characters in names of managed entities, in lower or upper case.
var (
	escapes = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")
	plain   = strings.NewReplacer("%25", "%", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`)
)

// Escape is a name in vSphere's encoding: / is %2f, \ is %5c and % is %25.
func Escape(name string) string { return escapes.Replace(name) }

// Plain decodes a name of vSphere. Other characters stay, also a % that begins no escape.
func Plain(name string) string { return plain.Replace(name) }
