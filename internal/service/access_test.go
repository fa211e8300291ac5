package service_test

import (
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/service/cassandra"
	"plimsoll/internal/service/mariadb"
	"plimsoll/internal/service/postgresql"
)

// Invalid access settings are refused with the same message for all databases, and no password
// is printed.
func TestAccessThatMakesNoSense(t *testing.T) {
	for _, kind := range []service.Kind{postgresql.Kind(), mariadb.Kind(), cassandra.Kind()} {
		for _, c := range []struct {
			settings parameter.Settings
			want     string
		}{
			{parameter.Settings{"user": "me"}, "requires address"},
			{parameter.Settings{"password": "env:P"}, "requires address"},
			{parameter.Settings{"ca": "/c"}, "requires address"},
			{parameter.Settings{"tls_verify": "false"}, "requires address"},
			{parameter.Settings{"address": "nowhere"}, "neither host:port"},
			{parameter.Settings{"address": "a:1", "ca": "/c"}, "ca requires tls"},
			{parameter.Settings{"address": "a:1", "tls_verify": "false"}, "tls_verify requires tls"},
			{parameter.Settings{"address": "a:1", "tls": "true", "ca": "/c", "tls_verify": "false"}, "mutually exclusive"},
			{parameter.Settings{"address": "/run/s", "tls": "true"}, "TLS requires host:port"},
			{parameter.Settings{"address": "a:1", "password": "hush"}, "not the password itself"},
		} {
			if _, err := kind.New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v gives %v", kind.Name, c.settings, err)
			}
		}
	}
}
