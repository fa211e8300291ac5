package wire

import "testing"

func TestShape(t *testing.T) {
	row := func(n int) [][]string { return [][]string{make([]string, n)} }
	for sql, least := range map[string]int{
		"SELECT a FROM t":                                          1,
		"SELECT a, f(b, c), 'x, y' FROM t":                         3,
		"SELECT a, (SELECT b, c FROM u), d FROM t":                 3,
		"select name, coalesce(unit, '') from s union select 1, 2": 2,
		"SELECT extract(epoch FROM now()), 2":                      2,
		"SELECT 'since', f(1) UNION ALL SELECT 'all', v FROM t WHERE n = 'x' UNION ALL SELECT 'apart', @@p": 2,
		"SELECT f(a) WHERE b IN (1, 2)":              1,
		"SELECT * FROM t":                            0,
		"SELECT a.*, b FROM t":                       0,
		"SELECT ARRAY[1, 2], 3":                      2,
		"INSERT INTO t VALUES (1, 2) RETURNING a":    0,
		"SHOW server_version_num":                    1,
		"SHOW GLOBAL STATUS":                         2,
		"SHOW a; SHOW b":                             1,
		"CREATE TABLE t (a int); SELECT a, b FROM t": 0,
		"": 0,
	} {
		if err := Shape(sql, append(row(least), row(least)...)); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if least > 0 && Shape(sql, append(row(least), row(least-1)...)) == nil {
			t.Errorf("%s: rows of %d columns pass", sql, least-1)
		}
	}
	for sql, always := range map[string]bool{
		"SELECT count(*) FROM t":            true,
		"SELECT max(a), min(b) FROM t":      true,
		"SHOW data_directory":               true,
		"SELECT count(*) FROM t GROUP BY a": false,
		"SELECT a FROM t":                   false,
		"SHOW SESSION STATUS LIKE 'x'":      false,
		"SELECT sum(a) OVER () FROM t":      false,
		"DELETE FROM t":                     false,
	} {
		if err := Shape(sql, nil); (err != nil) != always {
			t.Errorf("%s without a row: %v", sql, err)
		}
	}
}

func FuzzShape(f *testing.F) {
	f.Add("SELECT a, 'b' FROM (x);")
	f.Fuzz(func(_ *testing.T, sql string) { _ = Shape(sql, [][]string{{"a"}}) })
}
