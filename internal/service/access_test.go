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

// What makes no sense of an access is refused, of all databases in the same words, and no
// password is told.
func TestAccessThatMakesNoSense(t *testing.T) {
	for _, kind := range []service.Kind{postgresql.Kind(), mariadb.Kind(), cassandra.Kind()} {
		for _, c := range []struct {
			settings parameter.Settings
			want     string
		}{
			{parameter.Settings{"user": "me"}, "give its address as well"},
			{parameter.Settings{"password": "env:P"}, "give its address as well"},
			{parameter.Settings{"ca": "/c"}, "give its address as well"},
			{parameter.Settings{"tls_verify": "false"}, "give its address as well"},
			{parameter.Settings{"address": "nowhere"}, "neither host:port"},
			{parameter.Settings{"address": "a:1", "ca": "/c"}, "ca is of no effect without TLS"},
			{parameter.Settings{"address": "a:1", "tls_verify": "false"}, "tls_verify is of no effect without TLS"},
			{parameter.Settings{"address": "a:1", "tls": "true", "ca": "/c", "tls_verify": "false"}, "leave out one of them"},
			{parameter.Settings{"address": "/run/s", "tls": "true"}, "TLS is spoken at host:port"},
			{parameter.Settings{"address": "a:1", "password": "hush"}, "not the password itself"},
		} {
			if _, err := kind.New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v gives %v", kind.Name, c.settings, err)
			}
		}
	}
}
