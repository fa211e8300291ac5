package config

import "strings"

// ModelledTimes is the setting of plimsoll's simulator that says whether operations take time. Other vCenters lack it.
const ModelledTimes = "plimsoll.modelledTimes"

// vSphere escapes three characters in names of managed entities. An escape may be written with either case.
var (
	escapes = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")
	plain   = strings.NewReplacer("%25", "%", "%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`)
)

// Escape is a name as vSphere writes it: / is %2f, \ is %5c and % is %25.
func Escape(name string) string { return escapes.Replace(name) }

// Plain is a name without the escapes of vSphere. Other characters stay, also a % that begins no escape.
func Plain(name string) string { return plain.Replace(name) }
